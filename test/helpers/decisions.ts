import type { EventName } from '../../schemas/event'
import type { Ticket } from '../../schemas/ticket'
import type { Decision } from '../../lib/store'

/** The instant from which the decisions of a test count. */
export const START = Date.parse('2026-03-01T12:00:00.000Z')

/** ISO 8601, `ms` after the start. */
export const at = (ms = 0): string => new Date(START + ms).toISOString()

/** A first decision about a ticket: it was enqueued. */
export function decide (id: string, more: Partial<Ticket> = {}, ms = 0): Decision {
  const ticket: Ticket = {
    id,
    stream: 'agent',
    question: 'Ship it?',
    urgency: 'normal',
    status: 'pending',
    created_at: at(ms),
    expires_at: at(ms + 1_800_000),
    rev: 1,
    ...more
  }
  return { ticket, event: { event: 'enqueued', at: ticket.created_at, actor: ticket.stream } }
}

/** What follows a decision: the next revision, changed as named. */
export function next ({ ticket }: { ticket: Ticket }, event: EventName, more: Partial<Ticket>, ms = 0): Decision {
  return {
    ticket: { ...ticket, ...more, rev: ticket.rev + 1 },
    event: { event, at: at(ms), actor: event === 'cancelled' ? ticket.stream : 'human' }
  }
}

export function answered (before: { ticket: Ticket }, answer = 'yes', ms = 0): Decision {
  return next(before, 'answered', { status: 'answered', answer, answered_by: 'human', answered_at: at(ms) }, ms)
}

export function cancelled (before: { ticket: Ticket }, ms = 0): Decision {
  return next(before, 'cancelled', { status: 'cancelled', cancelled_at: at(ms) }, ms)
}

/** The answer is taken back. */
export function undone ({ ticket }: { ticket: Ticket }, ms = 0): Decision {
  const { answer, answered_by: by, answered_at: when, ...open } = ticket
  return {
    ticket: { ...open, status: 'pending', rev: ticket.rev + 1 },
    event: { event: 'undone', at: at(ms), actor: 'human' }
  }
}
