import { isDeepStrictEqual } from 'node:util'
import Value from 'typebox/value'
import { checkNext, EMPTY_HEAD, headAt } from '../../lib/audit'
import { shorten } from '../../lib/views'
import type { AuditEntry } from '../../schemas/event'
import { TicketSchema, type Ticket, type TicketView } from '../../schemas/ticket'

const keyOf = ({ id, rev, status }: Ticket): string => JSON.stringify([id, rev, status])

/** What each event makes of a ticket, and out of what. */
const STEPS: Record<AuditEntry['event'], [from: string | undefined, to: string]> = {
  enqueued: [undefined, 'pending'], answered: ['pending', 'answered'], expired: ['pending', 'expired'], cancelled: ['pending', 'cancelled'], undone: ['answered', 'pending']
}

/** Which fields a ticket has, by how it stands. */
function faultOfTicket (ticket: Ticket): string | undefined {
  if (!Value.Check(TicketSchema, ticket)) return 'breaks the schema'
  const { status, answer, answered_by: by, answered_at: at, cancelled_at: cancelled, created_at: created, expires_at: expires } = ticket
  const isAnswered = status === 'answered' ? by === 'human' : status === 'expired' && ticket.default_answer !== undefined && by === 'default' && answer === ticket.default_answer
  if (isAnswered ? answer === undefined || at === undefined : (answer ?? by ?? at) !== undefined) return 'has an answer that does not go with its status'
  if ((cancelled !== undefined) !== (status === 'cancelled')) return 'has a cancelled_at that does not go with its status'
  return expires > created ? undefined : 'expires before it was made'
}

/** The books: what was acknowledged, held against what the log and the lists say. */
export class Ledger {
  readonly broken: string[] = []
  readonly latest = new Map<string, Ticket>()
  /** Acknowledged: ids that were enqueued, ids that were told to be cancelled, and each answer and undo. */
  readonly enqueued = new Map<string, string | undefined>()
  readonly cancelled = new Set<string>()
  readonly changed = new Set<string>()
  /** How many may have been done without our having read the answer. */
  unknown = 0
  unexplained = 0
  #head = EMPTY_HEAD

  noteChange (ticket: Ticket): void { this.changed.add(keyOf(ticket)) }

  get seq (): number { return this.#head.seq }

  get pending (): string[] {
    return [...this.latest.values()].filter(({ status }) => status === 'pending').map(({ id }) => id)
  }

  /** The next entries of the log. */
  read (entries: readonly AuditEntry[]): void {
    for (const entry of entries) {
      const { hash, ...open } = entry
      const fault = checkNext(`${JSON.stringify(open).slice(0, -1)},"hash":"${hash}"}`, this.#head).fault ?? this.#faultOf(entry)
      if (fault !== undefined) this.broken.push(`Entry ${entry.seq} ${fault}: ${JSON.stringify(entry).slice(0, 1_000)}`)
      this.#head = headAt(entry)
      this.latest.set(entry.id, entry.ticket)
    }
    if (this.unexplained > this.unknown) this.broken.push(`${this.unexplained} entries were acknowledged to nobody, and only ${this.unknown} answers were not read`)
  }

  /** Everything acknowledged is in what has been read. */
  close (): void {
    for (const [id, question] of this.enqueued) {
      const ticket = this.latest.get(id)
      if (ticket === undefined) this.broken.push(`Ticket ${id} was acknowledged and is not there`)
      else if (question !== undefined && ticket.question !== question) this.broken.push(`Ticket ${id} asks what nobody asked`)
    }
    for (const id of this.cancelled) if (this.latest.get(id)?.status !== 'cancelled') this.broken.push(`Ticket ${id} was cancelled and is not`)
    for (const key of this.changed) {
      const [id, rev] = JSON.parse(key) as [string, number]
      if ((this.latest.get(id)?.rev ?? 0) < rev) this.broken.push(`Revision ${rev} of ticket ${id} was acknowledged and is not there`)
    }
  }

  /** A list as the page reads it: what is pending, whole, and each ticket as the log has it. */
  compareList (tickets: readonly TicketView[]): void {
    const shown = tickets.filter(({ status }) => status === 'pending').map(({ id }) => id).sort()
    if (shown.join() !== this.pending.sort().join()) this.broken.push(`The list shows ${shown.length} pending, the log ${this.pending.length}`)
    this.compare(tickets)
  }

  compare (tickets: readonly TicketView[]): void {
    for (const view of tickets) {
      const ticket = this.latest.get(view.id)
      if (ticket === undefined || !isDeepStrictEqual(shorten(ticket, 4_096), view)) this.broken.push(`Ticket ${view.id} is shown as the log has it not`)
    }
  }

  #faultOf ({ event, id, at, ticket }: AuditEntry): string | undefined {
    const before = this.latest.get(id)
    const [from, to] = STEPS[event]
    if (before?.status !== from || ticket.status !== to) return `leads from ${before?.status} to ${ticket.status}`
    if (ticket.rev !== (before?.rev ?? 0) + 1) return `has revision ${ticket.rev} after ${before?.rev}`
    if (event === 'expired' && at < ticket.expires_at) return 'expired too early'
    const isExplained = event === 'enqueued' ? this.enqueued.has(id) : event === 'cancelled' ? this.cancelled.has(id) : event === 'expired' || this.changed.has(keyOf(ticket))
    if (!isExplained) this.unexplained++
    return faultOfTicket(ticket)
  }
}
