import { EMPTY_HEAD, headAt, seal } from '../lib/audit'
import { ReadyroomError } from '../lib/errors'
import { copyEntry, copyTicket, settledFrom, type ListFilter } from '../lib/live-tickets'
import type { AuditHead, Decision, TicketStore } from '../lib/store'
import { staleWrite, storeClosed } from '../lib/store-errors'
import type { AuditEntry } from '../schemas/event'
import type { Status, Ticket } from '../schemas/ticket'
import { migrate } from './migrations'
import type { QueueStorage } from './storage'

const SETTLED: readonly Status[] = ['answered', 'cancelled', 'expired']

export interface DurableStoreOptions {
  /** Written into every entry. */
  instance: string
  /** Wall clock, in milliseconds: decides what settled within the last day. */
  now?: () => number
}

type Line = { line: string }

const byId = (a: Ticket, b: Ticket): number => a.id < b.id ? -1 : a.id > b.id ? 1 : 0
const entryOf = ({ line }: Line): AuditEntry => JSON.parse(line) as AuditEntry

/**
 * The queue in the SQLite of its Durable Object. One commit is one transaction: the head is read, the line sealed and
 * both tables written without an `await`, so nothing comes between. Reads see it at once, and it is durable before
 * anybody else does: the object's output gate holds every response back until what was written before it is.
 *
 * Pending tickets are kept in memory as well, so that a page that polls reads no rows for them.
 */
export class DurableObjectTicketStore implements TicketStore {
  readonly #storage: QueueStorage
  readonly #instance: string
  readonly #now: () => number
  readonly #pending = new Map<string, Ticket>()
  #head: AuditHead = EMPTY_HEAD
  #closed = false

  constructor (storage: QueueStorage, { instance, now = Date.now }: DurableStoreOptions) {
    this.#storage = storage
    this.#instance = instance
    this.#now = now
  }

  async load (): Promise<void> {
    migrate(this.#storage)
    this.#head = this.#lastHead()
    for (const { ticket } of this.#entries("SELECT line FROM tickets JOIN audit USING (seq) WHERE status = 'pending'")) {
      this.#pending.set(ticket.id, ticket)
    }
  }

  async list ({ status, since }: ListFilter): Promise<Ticket[]> {
    const found: Ticket[] = []
    if (status === undefined || status === 'pending') {
      for (const ticket of this.#pending.values()) found.push(copyTicket(ticket))
    }
    const from = settledFrom(Math.max(this.#now(), Date.parse(this.#head.at ?? '') || 0), since)
    for (const settled of SETTLED) {
      if (status !== undefined && status !== settled) continue
      const entries = this.#entries('SELECT line FROM tickets JOIN audit USING (seq) WHERE status = ? AND at >= ?', settled, from)
      for (const { ticket } of entries) found.push(ticket)
    }
    return found.sort(byId)
  }

  async get (id: string): Promise<Ticket | undefined> {
    const pending = this.#pending.get(id)
    if (pending !== undefined) return copyTicket(pending)
    return this.#entries('SELECT line FROM tickets JOIN audit USING (seq) WHERE id = ?', id)[0]?.ticket
  }

  async commit (decision: Decision): Promise<AuditEntry> {
    if (this.#closed) throw storeClosed()
    const entry = this.#write(decision)
    const { ticket } = entry
    this.#head = headAt(entry)
    if (ticket.status === 'pending') this.#pending.set(ticket.id, copyTicket(ticket))
    else this.#pending.delete(ticket.id)
    await this.#storage.sync()
    return entry
  }

  async since (seq: number, limit: number): Promise<AuditEntry[]> {
    return this.#entries('SELECT line FROM audit WHERE seq > ? ORDER BY seq LIMIT ?', seq, limit)
  }

  head (): AuditHead {
    return { ...this.#head }
  }

  async history (before: number | undefined, limit: number): Promise<Array<{ seq: number, ticket: Ticket }>> {
    const entries = this.#entries(
      "SELECT line FROM tickets JOIN audit USING (seq) WHERE status <> 'pending' AND seq < ? ORDER BY seq DESC LIMIT ?",
      before ?? Number.MAX_SAFE_INTEGER, limit)
    return entries.map(({ seq, ticket }) => ({ seq, ticket }))
  }

  async close (): Promise<void> {
    this.#closed = true
    await this.#storage.sync()
  }

  #lastHead (): AuditHead {
    const last = this.#entries('SELECT line FROM audit ORDER BY seq DESC LIMIT 1')[0]
    return last === undefined ? EMPTY_HEAD : headAt(last)
  }

  #entries (query: string, ...bindings: Array<string | number>): AuditEntry[] {
    // One line at a time: an object has 128 MB, and pending tickets alone may hold half of it.
    return Array.from(this.#storage.sql.exec<Line>(query, ...bindings), entryOf)
  }

  /** @throws STALE_WRITE. @throws STORE_UNAVAILABLE when the storage refuses; then nothing of it is there. */
  #write ({ ticket, event }: Decision): AuditEntry {
    const { sql } = this.#storage
    try {
      return this.#storage.transactionSync(() => {
        const stored = sql.exec<{ rev: number }>('SELECT rev FROM tickets WHERE id = ?', ticket.id).toArray()[0]?.rev ?? 0
        if (stored !== ticket.rev - 1) throw staleWrite(ticket, stored)
        // The seq in the table decides what is before; the head in memory only saves reading that line again.
        const last = sql.exec<{ seq: number }>('SELECT seq FROM audit ORDER BY seq DESC LIMIT 1').toArray()[0]?.seq ?? 0
        if (last !== this.#head.seq) this.#head = this.#lastHead()
        const place = { head: this.#head, batch: this.#head.seq + 1, instance: this.#instance }
        const { entry, line } = seal({ event, ticket: copyTicket(ticket) }, place)
        sql.exec('INSERT INTO audit (seq, line) VALUES (?, ?)', entry.seq, line)
        sql.exec('INSERT OR REPLACE INTO tickets (id, rev, status, at, seq) VALUES (?, ?, ?, ?, ?)',
          ticket.id, ticket.rev, ticket.status, entry.at, entry.seq)
        return copyEntry(entry)
      })
    } catch (err) {
      if (err instanceof ReadyroomError) throw err
      throw new ReadyroomError('STORE_UNAVAILABLE', 'The storage of the queue refused the change, and nothing was saved. Try again in a moment.', { cause: err })
    }
  }
}
