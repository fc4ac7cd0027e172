import type { DeliveryMark } from '../../lib/room/commands/deliveries'
import type { CallHead, Outcome } from '../../lib/room/store'
import { isMissing, type InRoom, type Notes } from './notes'

const UNREAD = 'rooms:unread:'
/** After how many failures in a row a room's marks are given up: a timer for the next try keeps the object awake. */
const TRIES = 3

/**
 * What becomes of answers on their way to agents, where each room is an object of its own: a mark is kept in the room of its
 * ticket. In which rooms something was delivered to an agent that it is not known to have read is noted here, so that an
 * agent that has read everything wakes no room with its calls.
 */
export class RoomMarks {
  readonly #inRoom: InRoom
  readonly #notes: Notes
  readonly #failures = new Map<string, number>()

  constructor (inRoom: InRoom, notes: Notes) {
    this.#inRoom = inRoom
    this.#notes = notes
  }

  /** Sent again it changes nothing more. @throws STORE_UNAVAILABLE where a room could not save, a few times. */
  async note (call: CallHead, marks: readonly DeliveryMark[]): Promise<Outcome<{ tickets: string[] }>> {
    const { byRoom, unread } = this.#sort(marks)
    // Before the rooms: a crash in between costs a look.
    for (const { asker, before, added } of unread) this.#put(asker, [...new Set([...before, ...added])])
    const tickets: string[] = []
    for (const [room, marks] of byRoom) tickets.push(...await this.#inOne({ ...call, room }, marks))
    for (const { asker, after } of unread) this.#put(asker, after)
    return { result: { tickets }, events: [] }
  }

  /** Marks by the room that keeps them, in order, and for each agent where something is unread: before, on the way and after them. */
  #sort (marks: readonly DeliveryMark[]) {
    const byRoom = new Map<string, DeliveryMark[]>()
    const askers = new Map<string, { asker: string, before: string[], added: string[], after: string[] }>()
    const send = (room: string, mark: DeliveryMark): void => { byRoom.set(room, [...byRoom.get(room) ?? [], mark]) }
    for (const mark of marks) {
      const { asker } = mark
      const before = this.#unreadOf(asker)
      const of = askers.get(asker) ?? { asker, before, added: [], after: before }
      askers.set(asker, of)
      if (mark.kind === 'read') {
        for (const room of of.after) send(room, mark)
        of.after = []
      } else {
        send(mark.room, mark)
        of.added = [...of.added, mark.room]
        of.after = [...new Set([...of.after, mark.room])]
      }
    }
    return { byRoom, unread: [...askers.values()] }
  }

  async #inOne (call: CallHead, marks: readonly DeliveryMark[]): Promise<string[]> {
    const { room } = call
    try {
      const { result } = await this.#inRoom('noteDeliveries', call, { marks })
      this.#failures.delete(room)
      return result.tickets
    } catch (err) {
      if (isMissing(err)) return []
      const failures = (this.#failures.get(room) ?? 0) + 1
      this.#failures.set(room, failures % TRIES)
      if (failures < TRIES) throw err
      return []
    }
  }

  #unreadOf (asker: string): string[] { return this.#notes.get<string[]>(UNREAD + asker) ?? [] }

  #put (asker: string, rooms: readonly string[]): void {
    const noted = this.#unreadOf(asker)
    if (rooms.length === noted.length && rooms.every(room => noted.includes(room))) return
    if (rooms.length === 0) this.#notes.delete(UNREAD + asker)
    else this.#notes.put(UNREAD + asker, rooms)
  }
}
