import type { TicketInRoom } from '../../schemas/api'
import type { TicketPlace } from '../../lib/room/commands/deliveries'
import type { CallHead, CommandName, Outcome } from '../../lib/room/store'
import { isMissing, type InRoom } from './notes'

/** After these a room may know something else of a ticket than before. */
const CHANGES: ReadonlySet<CommandName> = new Set<CommandName>([
  'createTask', 'claimTask', 'updateTask', 'releaseTask', 'applyTickets', 'endWait', 'dropTicket', 'noteDeliveries', 'addRoom', 'deleteRoom'
])

/** Of how many tickets of a room it is remembered what the room knows. */
const MOST = 2_000

/**
 * What the rooms know of the tickets that a page shows, remembered for as long as nothing changes it: a page reads the list
 * every few seconds, and would wake each room every time. All that changes it comes through here.
 */
export class KnownTickets {
  readonly #inRoom: InRoom
  readonly #byRoom = new Map<string, Map<string, TicketInRoom | undefined>>()

  constructor (inRoom: InRoom) {
    this.#inRoom = inRoom
  }

  /** A command is sent to a room, or has come back. What was read in between is not remembered. */
  note (name: CommandName, room: string): void {
    if (CHANGES.has(name)) this.#byRoom.delete(room)
  }

  async of (call: CallHead, tickets: readonly TicketPlace[]): Promise<Outcome<{ tickets: Record<string, TicketInRoom> }>> {
    const byRoom = new Map<string, TicketPlace[]>()
    for (const ticket of tickets) byRoom.set(ticket.room, [...byRoom.get(ticket.room) ?? [], ticket])
    const found = await Promise.all([...byRoom].map(([room, tickets]) => this.#inOne({ ...call, room }, tickets)))
    return { result: { tickets: Object.assign({}, ...found) as Record<string, TicketInRoom> }, events: [] }
  }

  async #inOne (call: CallHead, tickets: readonly TicketPlace[]): Promise<Record<string, TicketInRoom>> {
    const { room } = call
    const known = this.#byRoom.get(room) ?? new Map<string, TicketInRoom | undefined>()
    this.#byRoom.set(room, known)
    const unknown = tickets.filter(({ id }) => !known.has(id))
    const fresh = unknown.length === 0 ? {} : await this.#ask(call, unknown)
    // Where something came in between, another map has taken the place of this one.
    for (const { id } of unknown) known.set(id, fresh[id])
    if (known.size > MOST && this.#byRoom.get(room) === known) this.#byRoom.delete(room)
    return Object.fromEntries(tickets.flatMap(({ id }) => {
      const one = known.get(id)
      return one === undefined ? [] : [[id, one]]
    }))
  }

  async #ask (call: CallHead, tickets: readonly TicketPlace[]): Promise<Record<string, TicketInRoom>> {
    try {
      return (await this.#inRoom('ticketsInRoom', call, { tickets })).result.tickets
    } catch (err) {
      if (!isMissing(err)) throw err
      return {}
    }
  }
}
