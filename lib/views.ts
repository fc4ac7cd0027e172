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
