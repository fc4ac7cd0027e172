import type { AuditEntry } from '../schemas/event'
import type { Status, Ticket } from '../schemas/ticket'

/** How long a settled ticket stays live, in milliseconds: one day. */
export const LIVE_MS = 86_400_000

/** A ticket with the audit entry that made it what it is. Never changed in place, so that a snapshot may walk over it. */
export interface TicketRecord { seq: number, at: string, ticket: Ticket }

export interface ListFilter { status?: Status, since?: string }

/** The tickets that a list can name: the pending ones, and those settled within the last day. */
export class LiveTickets {
  // Apart, so that reading the pending ones does not cost more on a day on which many were settled.
  readonly #pending = new Map<string, TicketRecord>()
  readonly #settled = new Map<string, TicketRecord>()

  get size (): number {
    return this.#pending.size + this.#settled.size
  }

  set (record: TicketRecord): void {
    const { ticket } = record
    const [to, from] = ticket.status === 'pending' ? [this.#pending, this.#settled] : [this.#settled, this.#pending]
    from.delete(ticket.id)
    to.set(ticket.id, record)
  }

  get (id: string): TicketRecord | undefined {
    return this.#pending.get(id) ?? this.#settled.get(id)
  }

  /** Copies, in order of `id`. `nowMs` decides what the last day is. */
  list ({ status, since }: ListFilter, nowMs: number): Ticket[] {
    const from = settledFrom(nowMs, since)
    const found: Ticket[] = []
    if (status === undefined || status === 'pending') {
      for (const { ticket } of this.#pending.values()) found.push(copyTicket(ticket))
    }
    if (status !== 'pending') {
      for (const { ticket, at } of this.#settled.values()) {
        if (at >= from && (status === undefined || ticket.status === status)) found.push(copyTicket(ticket))
      }
    }
    return found.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  }

  /**
   * Lets go of what settled more than a day before `nowMs`: the time of the last entry, before which no clock of ours ever
   * goes back. By the wall clock, one that was ahead for a while would take away what is of the last day when it is right again.
   */
  prune (nowMs: number): void {
    const from = settledFrom(nowMs)
    for (const [id, { at }] of this.#settled) {
      if (at < from) this.#settled.delete(id)
    }
  }

  /** Every live ticket as of now; later changes do not show in it. */
  records (): TicketRecord[] {
    return [...this.#pending.values(), ...this.#settled.values()]
  }
}

export function copyTicket (ticket: Ticket): Ticket {
  return ticket.options === undefined ? { ...ticket } : { ...ticket, options: [...ticket.options] }
}

export function copyEntry (entry: AuditEntry): AuditEntry {
  return { ...entry, ticket: copyTicket(entry.ticket) }
}

/**
 * From which time on a settled ticket is live, at `nowMs`: a day before, or `since` where that is later.
 * Timestamps are compared as text: they all have the one form that toISOString gives.
 */
export function settledFrom (nowMs: number, since?: string): string {
  const dayAgo = new Date(nowMs - LIVE_MS).toISOString()
  if (since === undefined) return dayAgo
  const asked = new Date(since).toISOString()
  return asked > dayAgo ? asked : dayAgo
}
