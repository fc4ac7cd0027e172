import type { HistoryPage, TicketList } from '../schemas/api'
import type { AuditEntry } from '../schemas/event'
import type { PendingList } from '../schemas/mcp'
import type { Ticket } from '../schemas/ticket'
import { createBus } from './bus'
import { ReadyroomError } from './errors'
import * as lifecycle from './lifecycle'
import type { EnqueueInput } from './lifecycle'
import type { Principal } from './principal'
import { Quota } from './quota'
import type { AuditHead, Decision, TicketStore } from './store'
import { firstThatFit, shorten } from './views'
import { Waiters } from './waiters'

const RECENT_MS = 5 * 60_000
const STALE_RETRIES = 3
/** How soon a due ticket that could not be saved as expired is tried again, in milliseconds. */
const EXPIRY_RETRY_MS = 1_000
/**
 * What an agent's list holds at most. Clients read ten megabytes in one line, and the list is in it twice, the second
 * time as a text whose escapes are escaped.
 */
const PENDING = { count: 200, context: 1_000, bytes: 3 * 1_024 * 1_024 }
const LIST_CONTEXT = 4_096

export interface WaitOptions {
  /** How long at most, in milliseconds. */
  ms: number
  signal?: AbortSignal | undefined
}

/**
 * What an agent can do, whichever process it talks to: the desk itself where the store is, a proxy of it elsewhere.
 * All four can be sent twice without doing a thing twice, which is what lets a proxy retry them.
 */
export interface AgentDesk {
  /** Enqueues a ticket and resolves when it is durable. A known id returns its ticket. @throws BAD_REQUEST, QUEUE_FULL, STORE_UNAVAILABLE */
  ask (input: EnqueueInput, id?: string): Promise<Ticket>
  /** The ticket, when it is settled or the time is over. An aborted wait resolves at once. @throws TICKET_NOT_FOUND */
  wait (id: string, options: WaitOptions): Promise<Ticket>
  /** What is pending across every stream, oldest first, at most 200 and 3 MiB, long contexts cut. */
  pending (): Promise<PendingList>
  /** @throws TICKET_NOT_FOUND. @throws TICKET_SETTLED when answered or expired; cancelling twice is fine. */
  cancel (id: string): Promise<Ticket>
}

/** Whether a reader may see a ticket. */
export type Visible = (ticket: Ticket) => boolean

const everything: Visible = () => true

export interface DeskOptions {
  /** The wall clock, in milliseconds since 1970. */
  now?: () => number
  log?: { warn (details: object, message: string): void }
}

/** Where commands meet the store: load, decide, commit, publish. It decides again when somebody else was faster. */
export class Desk implements AgentDesk {
  readonly #store: TicketStore
  readonly #wallClock: () => number
  readonly #log: DeskOptions['log']
  readonly #bus = createBus()
  readonly #quota = new Quota()
  readonly #waiters: Waiters
  readonly #expiring = new Map<string, Promise<Ticket>>()
  /** When the newest decision was made, in milliseconds since 1970: it may still be on its way into the log. */
  #lastDecided = 0
  /** No pending ticket is due before this time, in milliseconds since 1970. */
  #nextDue = Infinity

  /** `store` is loaded already. Call `open` before anything else. */
  constructor (store: TicketStore, { now = Date.now, log }: DeskOptions = {}) {
    this.#store = store
    this.#wallClock = now
    this.#log = log
    this.#waiters = new Waiters(now)
  }

  /** Counts what is pending. Resolves when the desk may be used. */
  async open (): Promise<this> {
    for (const ticket of await this.#store.list({ status: 'pending' })) {
      this.#quota.add(ticket)
      this.#noteExpiry(ticket)
    }
    return this
  }

  /** How many wait for an answer now. */
  get waiting (): number { return this.#waiters.size }

  /** How many are pending, those on their way into the store included. */
  get pendingCount (): number { return this.#quota.tickets }

  /** The end of the audit log. */
  head (): AuditHead { return this.#store.head() }

  /**
   * The wall clock, but never before the last audit entry: a board without a clock boots in the past, and an undo
   * window or an expiry must not open again because of it. A clock that was ahead while nothing was decided comes back.
   */
  now (): number {
    const { at } = this.#store.head()
    return Math.max(this.#lastDecided, this.#wallClock(), at === undefined ? 0 : Date.parse(at))
  }

  async ask (input: EnqueueInput, knownId?: string): Promise<Ticket> {
    const known = knownId === undefined ? undefined : await this.#store.get(knownId)
    if (known !== undefined) return this.#fresh(known)
    let decision = this.#enqueue(input, knownId)
    if (this.#quota.refusal(decision.ticket) !== undefined) {
      await this.expireDue()
      decision = this.#enqueue(input, knownId)
    }
    const { id } = decision.ticket
    this.#quota.reserve(decision.ticket)
    try {
      return await this.#commit(decision)
    } catch (err) {
      const stored = isStale(err) ? await this.#store.get(id) : undefined
      if (stored !== undefined) return this.#fresh(stored)
      this.#quota.remove(id)
      throw err
    }
  }

  /** @throws TICKET_NOT_FOUND, TICKET_SETTLED, BAD_REQUEST, STORE_UNAVAILABLE. `label` is how the person calls themselves. */
  answer (id: string, text: string, by: Principal, label?: string): Promise<Ticket> {
    return this.#change(id, (ticket, now) => lifecycle.answer(ticket, text, label || by.name, now))
  }

  /** @throws TICKET_NOT_FOUND, TICKET_SETTLED, UNDO_WINDOW_PASSED, STORE_UNAVAILABLE */
  undo (id: string, by: Principal): Promise<Ticket> {
    return this.#change(id, (ticket, now) => lifecycle.undo(ticket, by.name, now))
  }

  cancel (id: string): Promise<Ticket> {
    return this.#change(id, lifecycle.cancel)
  }

  /** One ticket, whole. @throws TICKET_NOT_FOUND */
  async get (id: string): Promise<Ticket> {
    return this.#fresh(await this.#find(id))
  }

  /** What the heads-up page shows: pending, and settled in the last five minutes. */
  async list (visible: Visible = everything): Promise<TicketList> {
    await this.expireDue()
    const now = this.now()
    const tickets = (await this.#store.list({ since: new Date(now - RECENT_MS).toISOString() })).filter(visible)
    return { tickets: tickets.map(ticket => shorten(ticket, LIST_CONTEXT)), now: new Date(now).toISOString() }
  }

  async pending (visible: Visible = everything): Promise<PendingList> {
    await this.expireDue()
    const all = (await this.#store.list({ status: 'pending' })).filter(visible)
    const tickets = firstThatFit(all, PENDING)
    const omitted = all.length - tickets.length
    return { tickets, ...(omitted > 0 && { omitted }) }
  }

  /** A page of settled tickets. One of which little is visible may be short, and still say where to go on. */
  async history (before: number | undefined, limit: number, visible: Visible = everything): Promise<HistoryPage> {
    await this.expireDue()
    const page = await this.#store.history(before, limit)
    const last = page.at(-1)
    return {
      tickets: page.filter(({ ticket }) => visible(ticket)).map(({ ticket }) => shorten(ticket, LIST_CONTEXT)),
      ...(last !== undefined && page.length === limit && { next: last.seq })
    }
  }

  /** Audit entries above `seq`, in order, at most `limit`. */
  since (seq: number, limit: number): Promise<AuditEntry[]> {
    return this.#store.since(seq, limit)
  }

  /** Hears of every commit, in order, once it is durable. */
  subscribe (listener: (entry: AuditEntry) => void): () => void {
    return this.#bus.subscribe(listener)
  }

  async wait (id: string, { ms, signal }: WaitOptions): Promise<Ticket> {
    const wallEnd = this.#wallClock() + ms
    const end = performance.now() + ms
    const waiter = this.#waiters.enter(id)
    try {
      for (;;) {
        const ticket = await this.get(id)
        const left = Math.min(end - performance.now(), wallEnd - this.#wallClock())
        if (ticket.status !== 'pending' || left <= 0 || signal?.aborted || this.#waiters.closed) return ticket
        await waiter.until({ ms: left, wakeInMs: this.#untilExpiry(ticket), signal })
      }
    } finally {
      waiter.leave()
    }
  }

  /**
   * Settles whatever is due; costs nothing while nothing is. A store that cannot save leaves a ticket pending: reading
   * goes on.
   */
  async expireDue (): Promise<void> {
    const now = this.now()
    if (now < this.#nextDue) return
    const pending = await this.#store.list({ status: 'pending' })
    const after = await Promise.all(pending.map(ticket => this.#fresh(ticket)))
    this.#nextDue = Infinity
    for (const ticket of await this.#store.list({ status: 'pending' })) this.#noteExpiry(ticket)
    // What could not be saved is tried again a little later rather than on every read.
    if (after.some(ticket => lifecycle.isDue(ticket, now))) this.#nextDue = now + EXPIRY_RETRY_MS
  }

  /** In how many milliseconds the next pending ticket is due, 0 where one is; undefined while nothing is pending. It may be early. */
  untilNextExpiry (): number | undefined {
    return this.#nextDue === Infinity ? undefined : Math.max(0, this.#nextDue - this.now())
  }

  /** Answers every waiter with its ticket as it is. The store is the owner's to close. */
  close (): void {
    this.#waiters.close()
  }

  async #find (id: string): Promise<Ticket> {
    const ticket = await this.#store.get(id)
    if (ticket === undefined) {
      throw new ReadyroomError('TICKET_NOT_FOUND', `There is no ticket ${JSON.stringify(id.slice(0, 100))}. Use the id that ask_human returned.`)
    }
    return ticket
  }

  /** One moment for the id and the ticket: lists are in order of the id, and its time is that of `created_at`. */
  #enqueue (input: EnqueueInput, knownId: string | undefined): Decision {
    const now = this.now()
    return lifecycle.enqueue(input, knownId ?? lifecycle.mintId(now), now)
  }

  async #change (id: string, decide: (ticket: Ticket, now: number) => Decision | undefined): Promise<Ticket> {
    for (let attempt = 1; ; attempt++) {
      let ticket = await this.#find(id)
      if (lifecycle.isDue(ticket, this.now())) ticket = await this.#expire(ticket)
      // Nothing is awaited between the time that is decided with and the commit, so that the log's times are in order.
      const decision = decide(ticket, this.now())
      if (decision === undefined) return ticket
      try {
        return await this.#commit(decision)
      } catch (err) {
        if (!isStale(err) || attempt === STALE_RETRIES) throw err
      }
    }
  }

  async #commit (decision: Decision): Promise<Ticket> {
    this.#lastDecided = Math.max(this.#lastDecided, Date.parse(decision.event.at))
    const entry = await this.#store.commit(decision)
    if (entry.ticket.status === 'pending') {
      this.#quota.add(entry.ticket)
      this.#noteExpiry(entry.ticket)
    } else {
      this.#quota.remove(entry.id)
    }
    this.#bus.publish(entry)
    this.#waiters.wake(entry.id)
    return entry.ticket
  }

  /** Many readers meet the same due ticket at once; one of them settles it for all. */
  #expire (ticket: Ticket): Promise<Ticket> {
    const under = this.#expiring.get(ticket.id)
    if (under !== undefined) return under
    const decision = lifecycle.expire(ticket, this.now())
    if (decision === undefined) return Promise.resolve(ticket)
    const done = this.#commit(decision)
      .catch(async err => {
        if (isStale(err)) return this.#find(ticket.id)
        throw err
      })
      .finally(() => this.#expiring.delete(ticket.id))
    this.#expiring.set(ticket.id, done)
    return done
  }

  /** The ticket, expired if it is due. Reading goes on when the store cannot save: the ticket is then shown as it is stored. */
  async #fresh (ticket: Ticket): Promise<Ticket> {
    if (!lifecycle.isDue(ticket, this.now())) return ticket
    try {
      return await this.#expire(ticket)
    } catch (err) {
      this.#log?.warn({ err, id: ticket.id }, 'A ticket is due but could not be saved as expired; it stays pending for now')
      return ticket
    }
  }

  #noteExpiry (ticket: Ticket): void {
    this.#nextDue = Math.min(this.#nextDue, Date.parse(ticket.expires_at))
  }

  /** In how many milliseconds a pending ticket is worth looking at again. */
  #untilExpiry (ticket: Ticket): number {
    const now = this.now()
    const ms = Date.parse(ticket.expires_at) - now
    // Due but not saved as expired, or a wall clock that is set back and stands still for us: look again soon, not at once.
    return ms <= 0 || this.#wallClock() < now ? Math.max(ms, EXPIRY_RETRY_MS) : ms
  }
}

const isStale = (err: unknown): boolean => err instanceof ReadyroomError && err.code === 'STALE_WRITE'
