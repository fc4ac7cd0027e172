import type { Ticket, TicketView } from '../schemas/ticket'

/** The first `limit` code points of a text, and whether there were more. */
function cut (text: string, limit: number): string | undefined {
  if (text.length <= limit) return undefined
  const points = [...text]
  return points.length <= limit ? undefined : points.slice(0, limit).join('')
}

/** A ticket as a list shows it: a context over `limit` code points is cut there and marked `context_truncated`. */
export function shorten (ticket: Ticket, limit: number): TicketView {
  const context = ticket.context === undefined ? undefined : cut(ticket.context, limit)
  return context === undefined ? ticket : { ...ticket, context, context_truncated: true }
}

const encoder = new TextEncoder()

/**
 * The first of the tickets, as many as have room, each with its context cut; one at least. `bytes` are those of JSON. What they stand in is
 * one line or one body, and a client may give up the connection at one that is longer than it reads.
 */
export function firstThatFit (tickets: readonly Ticket[], most: { count: number, context: number, bytes: number }): TicketView[] {
  const views: TicketView[] = []
  let size = 0
  for (const ticket of tickets.slice(0, most.count)) {
    const view = shorten(ticket, most.context)
    size += encoder.encode(JSON.stringify(view)).byteLength
    if (size > most.bytes && views.length > 0) break
    views.push(view)
  }
  return views
}
