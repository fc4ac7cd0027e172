import type { AuditEntry } from '../../schemas/event'
import type { RoomEvent } from '../../schemas/room'
import type { CallHead, Outcome, OutputOf } from '../../lib/room/store'
import { isMissing, type InRoom, type Notes } from './notes'

const APPLIED = 'rooms:audit_seq'
const WAITING = 'rooms:waiting'
const ROOMLESS = 'rooms:roomless'
/** How long after its end a ticket can still come back, by an undo, with room to spare, in milliseconds. */
const FORGET_MS = 3_600_000

type Awaited = OutputOf<'awaitedTickets'>['tickets']
/** Which rooms have tasks that wait for a ticket of no room, and when it was settled. */
type Roomless = Record<string, { rooms: string[], settled_at?: string }>

/**
 * How far the rooms have been told what becomes of tickets, and in which of them somebody waits. It is kept beside the
 * tickets; how far a room has come it knows itself.
 */
export class ToldTickets {
  readonly #inRoom: InRoom
  readonly #notes: Notes
  /** Rooms with a command under way that may make a task wait for a ticket. */
  readonly #busy = new Map<string, number>()

  constructor (inRoom: InRoom, notes: Notes) {
    this.#inRoom = inRoom
    this.#notes = notes
  }

  get applied (): number { return this.#notes.get<number>(APPLIED) ?? 0 }

  skip (seq: number): void {
    if (this.#notes.get(APPLIED) === undefined) this.#notes.put(APPLIED, seq)
  }

  /** Each room applies its own, and knows how far it has come; what is noted here is what nobody has to be told again. */
  async apply (call: CallHead, entries: readonly AuditEntry[]): Promise<Outcome<{ seq: number }>> {
    const before = this.applied
    const byRoom = new Map<string, AuditEntry[]>()
    for (const entry of entries) {
      if (entry.seq <= before) continue
      for (const room of this.#concerned(entry)) byRoom.set(room, [...byRoom.get(room) ?? [], entry])
    }
    const events: RoomEvent[] = []
    for (const [room, entries] of byRoom) {
      try {
        const tell = (): Promise<Outcome<unknown>> => this.#inRoom('applyTickets', { ...call, room }, { entries })
        // An answer that is taken back makes a task wait again.
        const outcome = await (entries.some(({ event }) => event === 'undone') ? this.waitingIn(room, tell) : tell())
        events.push(...outcome.events)
      } catch (err) {
        if (!isMissing(err)) throw err
      }
    }
    this.#forget(entries)
    const seq = Math.max(before, entries.at(-1)?.seq ?? 0)
    if (seq > before) this.#notes.put(APPLIED, seq)
    return { result: { seq }, events }
  }

  /** Notes that tasks of a room may wait for tickets, before they do: a crash in between costs a look, and loses nothing. */
  async waitingIn<T> (room: string, run: () => Promise<T>, roomless?: string): Promise<T> {
    const waiting = this.#waiting
    if (!waiting.includes(room)) this.#notes.put(WAITING, [...waiting, room])
    if (roomless !== undefined) this.#wait(roomless, room)
    this.#busy.set(room, (this.#busy.get(room) ?? 0) + 1)
    try {
      return await run()
    } finally {
      this.#busy.set(room, this.#busy.get(room)! - 1)
    }
  }

  /** Asks those rooms only in which tasks may wait: the others sleep on. */
  async awaited (call: CallHead): Promise<Awaited> {
    const tickets: Awaited = []
    for (const room of this.#waiting) {
      let found: Awaited = []
      try {
        found = (await this.#inRoom('awaitedTickets', { ...call, room }, {})).result.tickets
      } catch (err) {
        if (!isMissing(err)) throw err
      }
      tickets.push(...found)
      if (found.length === 0 && !this.#busy.get(room)) this.#notes.put(WAITING, this.#waiting.filter(name => name !== room))
    }
    return tickets
  }

  get #waiting (): string[] { return this.#notes.get<string[]>(WAITING) ?? [] }

  get #roomless (): Roomless { return this.#notes.get<Roomless>(ROOMLESS) ?? {} }

  /** Rooms that an entry is told to: that of its ticket, or those in which somebody waits for what is in no room. */
  #concerned ({ id, ticket: { room } }: AuditEntry): readonly string[] {
    return room === undefined ? this.#roomless[id]?.rooms ?? [] : [room]
  }

  #wait (ticket: string, room: string): void {
    const { rooms = [] } = this.#roomless[ticket] ?? {}
    this.#notes.put(ROOMLESS, { ...this.#roomless, [ticket]: { rooms: [...new Set([...rooms, room])] } })
  }

  /** Notes which of them are settled, and forgets those that cannot come back any more. */
  #forget (entries: readonly AuditEntry[]): void {
    const roomless = this.#roomless
    const mine = entries.filter(({ id }) => roomless[id] !== undefined)
    if (mine.length === 0) return
    for (const { id, at, ticket: { status } } of mine) {
      const { rooms } = roomless[id]!
      roomless[id] = { rooms, ...(status !== 'pending' && { settled_at: at }) }
    }
    const over = Date.parse(mine.at(-1)!.at) - FORGET_MS
    const kept = Object.entries(roomless).filter(([, { settled_at: at }]) => at === undefined || Date.parse(at) > over)
    this.#notes.put(ROOMLESS, Object.fromEntries(kept))
  }
}
