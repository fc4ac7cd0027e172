import type { AuditEntry, EventName } from '../../schemas/event'
import type { Status, Ticket, TicketView } from '../../schemas/ticket'

/** An entry of the audit log without what only a store can give it. */
export type Fact = Pick<AuditEntry, 'seq' | 'at' | 'event' | 'id' | 'stream' | 'actor' | 'ticket'>

/** What a command came to: its result, or the code of its refusal, with the ticket where a refusal shows one. */
export type Outcome = { result: unknown } | { refused: string, ticket?: Ticket }

export interface Asked {
  stream: string
  question: string
  options?: string[]
  context?: string
  default_answer?: string
  timeout_seconds?: number
  urgency?: Ticket['urgency']
}

const MINUTES = 60_000
const DAY = 86_400_000
const STREAM_LIMIT = 500
const iso = (ms: number): string => new Date(ms).toISOString()
const isBlank = (text: string): boolean => text.trim() === ''
const byId = (a: Ticket, b: Ticket): number => a.id < b.id ? -1 : 1

/** The context as a list of this kind shows it. */
function view (ticket: Ticket, limit: number): TicketView {
  const points = [...ticket.context ?? '']
  return points.length > limit ? { ...ticket, context: points.slice(0, limit).join(''), context_truncated: true } : ticket
}

/**
 * The contract once more, as plainly as it can be said and with nothing of the product in it but the types: a list of
 * facts, a clock that never goes behind the last of them, and each command as a change of both. What a store and a desk
 * do must look like this from outside.
 */
export class QueueModel {
  /** Milliseconds since 1970. It may be set back. */
  wall: number
  facts: Fact[] = []

  constructor (wall: number) {
    this.wall = wall
  }

  clone (): QueueModel {
    const copy = new QueueModel(this.wall)
    copy.facts = [...this.facts]
    return copy
  }

  get now (): number {
    const last = this.facts.at(-1)
    return last === undefined ? this.wall : Math.max(this.wall, Date.parse(last.at))
  }

  get ids (): string[] {
    return this.facts.filter(({ event }) => event === 'enqueued').map(({ id }) => id)
  }

  ask (asked: Asked, id: string): Outcome {
    const known = this.#fresh(id)
    if (known !== undefined) return { result: known.ticket }
    const { stream, timeout_seconds: seconds = 1_800, urgency = 'normal', ...text } = asked
    const isFull = (): boolean => this.facts.length >= STREAM_LIMIT &&
      this.#latest().filter(({ ticket }) => ticket.status === 'pending' && ticket.stream === stream).length >= STREAM_LIMIT
    if (isFull()) this.#expireAll()
    if (isFull()) return { refused: 'QUEUE_FULL' }
    const now = this.now
    return this.#put('enqueued', stream, {
      id, stream, ...text, urgency, status: 'pending', created_at: iso(now), expires_at: iso(now + Math.round(seconds * 1_000)), rev: 1
    })
  }

  answer (id: string, text: string, label?: string): Outcome {
    const ticket = this.#fresh(id)?.ticket
    if (ticket === undefined) return { refused: 'TICKET_NOT_FOUND' }
    if (ticket.status !== 'pending') return { refused: 'TICKET_SETTLED', ticket }
    if (isBlank(text)) return { refused: 'BAD_REQUEST' }
    const change = { status: 'answered', answer: text, answered_by: 'human', answered_at: iso(this.now) } as const
    return this.#put('answered', label || 'human', { ...ticket, ...change, rev: ticket.rev + 1 })
  }

  undo (id: string): Outcome {
    const latest = this.#fresh(id)
    if (latest === undefined) return { refused: 'TICKET_NOT_FOUND' }
    const { ticket } = latest
    if (ticket.status === 'pending') return { refused: 'UNDO_WINDOW_PASSED', ticket }
    if (ticket.status !== 'answered') return { refused: 'TICKET_SETTLED', ticket }
    if (this.now - Date.parse(latest.at) > 5 * MINUTES) return { refused: 'UNDO_WINDOW_PASSED', ticket }
    const { answer, answered_by: by, answered_at: when, ...open } = ticket
    const expires = Math.max(Date.parse(ticket.expires_at), this.now + 5 * MINUTES)
    return this.#put('undone', 'human', { ...open, status: 'pending', expires_at: iso(expires), rev: ticket.rev + 1 })
  }

  cancel (id: string): Outcome {
    const ticket = this.#fresh(id)?.ticket
    if (ticket === undefined) return { refused: 'TICKET_NOT_FOUND' }
    if (ticket.status === 'cancelled') return { result: ticket }
    if (ticket.status !== 'pending') return { refused: 'TICKET_SETTLED', ticket }
    return this.#put('cancelled', ticket.stream, { ...ticket, status: 'cancelled', cancelled_at: iso(this.now), rev: ticket.rev + 1 })
  }

  get (id: string): Outcome {
    const latest = this.#fresh(id)
    return latest === undefined ? { refused: 'TICKET_NOT_FOUND' } : { result: latest.ticket }
  }

  list (): Outcome {
    this.#expireAll()
    const tickets = this.stored({ since: iso(this.now - 5 * MINUTES) }).map(ticket => view(ticket, 4_096))
    return { result: { tickets, now: iso(this.now) } }
  }

  pending (): Outcome {
    this.#expireAll()
    const all = this.stored({ status: 'pending' })
    const tickets = all.slice(0, 200).map(ticket => view(ticket, 1_000))
    return { result: { tickets, ...(all.length > 200 && { omitted: all.length - 200 }) } }
  }

  history (before: number | undefined, limit: number): Outcome {
    this.#expireAll()
    const page = this.#latest()
      .filter(({ seq, ticket }) => ticket.status !== 'pending' && seq < (before ?? Infinity))
      .sort((a, b) => b.seq - a.seq)
      .slice(0, limit)
    return { result: { tickets: page.map(({ ticket }) => view(ticket, 4_096)), ...(page.length === limit && { next: page.at(-1)!.seq }) } }
  }

  since (seq: number, limit: number): Outcome {
    return { result: this.facts.slice(seq, seq + limit) }
  }

  /** What the store lists, of itself: nothing expires by that. */
  stored ({ status, since = '' }: { status?: Status | undefined, since?: string | undefined }): Ticket[] {
    const dayAgo = iso(this.now - DAY)
    return this.#latest()
      .filter(({ at, ticket }) => (status ?? ticket.status) === ticket.status && (ticket.status === 'pending' || (at >= since && at >= dayAgo)))
      .map(({ ticket }) => ticket)
      .sort(byId)
  }

  /** The last fact of each ticket. */
  #latest (): Fact[] {
    return [...new Map(this.facts.map(fact => [fact.id, fact])).values()]
  }

  #fresh (id: string): Fact | undefined {
    const latest = (): Fact | undefined => this.facts.findLast(fact => fact.id === id)
    const fact = latest()
    if (fact !== undefined) this.#expireIfDue(fact.ticket)
    return latest()
  }

  #expireAll (): void {
    for (const { ticket } of this.#latest().sort((a, b) => byId(a.ticket, b.ticket))) this.#expireIfDue(ticket)
  }

  #expireIfDue (ticket: Ticket): void {
    if (ticket.status !== 'pending' || this.now < Date.parse(ticket.expires_at)) return
    const { default_answer: answer } = ticket
    const applied = answer === undefined ? {} : { answer, answered_by: 'default' as const, answered_at: ticket.expires_at }
    this.#put('expired', 'system', { ...ticket, status: 'expired', ...applied, rev: ticket.rev + 1 })
  }

  #put (event: EventName, actor: string, ticket: Ticket): Outcome {
    this.facts.push({ seq: this.facts.length + 1, at: iso(this.now), event, id: ticket.id, stream: ticket.stream, actor, ticket })
    return { result: ticket }
  }
}
