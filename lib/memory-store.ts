import type { AuditEntry } from '../schemas/event'
import type { Ticket } from '../schemas/ticket'
import { EMPTY_HEAD, headAt, seal } from './audit'
import { copyEntry, copyTicket, type ListFilter, LiveTickets, type TicketRecord } from './live-tickets'
import type { AuditHead, Decision, TicketStore } from './store'
import { staleWrite, storeClosed } from './store-errors'

export interface MemoryStoreOptions {
  /** Written into every entry. */
  instance?: string
  /** Wall clock, in milliseconds: decides what settled within the last day. */
  now?: () => number
}

/**
 * The reference: what every other store must do, in the fewest lines. Nothing survives it. `commit` is all or nothing
 * because there is no `await` between its check and its write.
 */
export class MemoryTicketStore implements TicketStore {
  readonly #instance: string
  readonly #now: () => number
  readonly #entries: AuditEntry[] = []
  readonly #latest = new Map<string, TicketRecord>()
  readonly #live = new LiveTickets()
  #closed = false

  constructor ({ instance = 'memory', now = Date.now }: MemoryStoreOptions = {}) {
    this.#instance = instance
    this.#now = now
  }

  async load (): Promise<void> {}

  async list (filter: ListFilter): Promise<Ticket[]> {
    return this.#live.list(filter, Math.max(this.#now(), Date.parse(this.head().at ?? '') || 0))
  }

  async get (id: string): Promise<Ticket | undefined> {
    const record = this.#latest.get(id)
    return record && copyTicket(record.ticket)
  }

  async commit (decision: Decision): Promise<AuditEntry> {
    if (this.#closed) throw storeClosed()
    const { ticket } = decision
    const stored = this.#latest.get(ticket.id)?.ticket.rev ?? 0
    if (stored !== ticket.rev - 1) throw staleWrite(ticket, stored)
    const head = this.head()
    const { entry } = seal(
      { event: decision.event, ticket: copyTicket(ticket) },
      { head, batch: head.seq + 1, instance: this.#instance })
    const record = { seq: entry.seq, at: entry.at, ticket: entry.ticket }
    this.#entries.push(entry)
    this.#latest.set(ticket.id, record)
    this.#live.set(record)
    return copyEntry(entry)
  }

  async since (seq: number, limit: number): Promise<AuditEntry[]> {
    return this.#entries.slice(seq, seq + limit).map(copyEntry)
  }

  head (): AuditHead {
    const last = this.#entries.at(-1)
    return last === undefined ? { ...EMPTY_HEAD } : headAt(last)
  }

  async history (before: number | undefined, limit: number): Promise<Array<{ seq: number, ticket: Ticket }>> {
    return [...this.#latest.values()]
      .filter(({ seq, ticket }) => ticket.status !== 'pending' && (before === undefined || seq < before))
      .sort((a, b) => b.seq - a.seq)
      .slice(0, limit)
      .map(({ seq, ticket }) => ({ seq, ticket: copyTicket(ticket) }))
  }

  async close (): Promise<void> {
    this.#closed = true
  }
}
