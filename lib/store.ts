import type { AuditEntry, TicketEvent } from '../schemas/event'
import type { Status, Ticket } from '../schemas/ticket'

/** What one command did: the ticket as it is now, and the event that says so. */
export interface Decision { ticket: Ticket, event: TicketEvent }

/** The end of the audit log. `seq` is 0 and `at` undefined while it is empty. */
export interface AuditHead { seq: number, hash: string, at: string | undefined }

/**
 * Where tickets live. One process writes; every implementation passes the suite in test/contract/store.ts.
 * What a store hands out is a copy: changing it changes nothing here.
 */
export interface TicketStore {
  /** Reads what is there. Nothing else may be called before it resolves. */
  load (): Promise<void>

  /**
   * Live tickets: the pending ones, and those settled within the last day, in order of `id`, so oldest first.
   * `since` (ISO 8601) leaves out what settled before that time; pending ones always stay.
   */
  list (filter: { status?: Status, since?: string }): Promise<Ticket[]>

  /** Any ticket that ever was, settled long ago too. */
  get (id: string): Promise<Ticket | undefined>

  /**
   * Both or neither; resolves when durable, and commits resolve in the order of their `seq`. The store assigns `seq`,
   * `batch`, `prev` and `hash`. Nothing of it is visible to any read before it is durable.
   * @throws STALE_WRITE unless the stored revision is `ticket.rev - 1` (none, for 1). It is thrown only once a commit
   * of the same ticket that was under way has ended, so that whoever decides again sees its outcome.
   * @throws STORE_UNAVAILABLE when it could not be made durable; the ticket is as it was.
   */
  commit (decision: Decision): Promise<AuditEntry>

  /** Audit entries with a seq above `seq`, in order, at most `limit`. */
  since (seq: number, limit: number): Promise<AuditEntry[]>

  /** The end of the audit log, durable entries only. */
  head (): AuditHead

  /**
   * Settled tickets, newest first, at most `limit`: those whose settling entry has a seq below `before`, or the newest.
   * An undone ticket is not among them. `seq` of each is the `before` of what follows it.
   */
  history (before: number | undefined, limit: number): Promise<Array<{ seq: number, ticket: Ticket }>>

  /** Idempotent; resolves when the last commit is durable and no timer or handle is left. */
  close (): Promise<void>
}
