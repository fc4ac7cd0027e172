import type { TicketInRoom } from '../../schemas/api'
import type { Ticket } from '../../schemas/ticket'
import type { RoomDesk } from './desk'

/**
 * What the rooms know of these tickets, by id. Tickets are shown whether or not the rooms can be read: then nothing is
 * known of them, and `onFailure` hears why.
 */
export async function knownOf (
  rooms: RoomDesk | undefined, tickets: readonly Ticket[], onFailure: (err: unknown) => void
): Promise<Record<string, TicketInRoom>> {
  const inRooms = tickets.flatMap(({ id, room }) => room === undefined ? [] : [{ id, room }])
  if (rooms === undefined || !rooms.isOpen || inRooms.length === 0) return {}
  try {
    return (await rooms.run('ticketsInRoom', rooms.system(), { tickets: inRooms })).tickets
  } catch (err) {
    onFailure(err)
    return {}
  }
}

export interface TicketWatchOptions {
  rooms: RoomDesk
  /** Hears of tickets of which the rooms may know more than before: many changes at once are one call. It must not reject. */
  tell (ids: readonly string[]): Promise<void>
}

/** Notices when the rooms come to know more of a ticket: its answer has come further, or a task waits for it. Returns how to stop. */
export function watchTickets ({ rooms, tell }: TicketWatchOptions): () => void {
  const due = new Set<string>()
  let telling = false

  async function tellAll (): Promise<void> {
    telling = true
    while (due.size > 0) {
      const ids = [...due]
      due.clear()
      await tell(ids)
    }
    telling = false
  }

  function note (ids: readonly string[]): void {
    for (const id of ids) due.add(id)
    if (!telling) tellAll().catch(() => {})
  }

  const stops = [
    rooms.deliveries.onChange(note),
    rooms.feed.overhear(({ ticket_id: id }) => { if (id !== undefined) note([id]) })
  ]
  return () => { for (const stop of stops) stop() }
}
