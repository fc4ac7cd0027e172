import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { EventName } from '../../schemas/event'
import type { Urgency } from '../../schemas/ticket'
import type { Desk } from '../desk'
import type { Presence } from '../presence'
import type { TicketStore } from '../store'

const URGENCIES: readonly Urgency[] = ['low', 'normal', 'blocking']
const EVENTS: readonly EventName[] = ['enqueued', 'answered', 'undone', 'expired', 'cancelled']

/** From a fast disk's sync to a card that is wearing out, in seconds. */
const COMMIT_SECONDS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export interface Watched { desk: Desk, presence: Presence, ticketStore: TicketStore }

/**
 * What Prometheus may know of one queue: numbers, and no text of a ticket and no stream. Counters begin at the start of
 * the process; what is pending is counted when it is asked for.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #pending: Gauge<'urgency'>
  readonly #oldest: Gauge
  readonly #events: Counter<'event'>
  readonly #commits: Histogram
  readonly #failures: Counter
  readonly #waiters: Gauge
  readonly #streams: Gauge
  #watched: Watched | undefined

  constructor ({ version }: { version: string }) {
    const registers = [this.#registry]
    const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers })
    this.#pending = new Gauge({ name: 'readyroom_tickets_pending', help: 'Tickets that wait for a person.', labelNames: ['urgency'], registers })
    this.#oldest = gauge('readyroom_oldest_pending_age_seconds', 'Age of the oldest pending ticket; 0 while there is none.')
    this.#events = new Counter({ name: 'readyroom_ticket_events_total', help: 'Changes of tickets since the start.', labelNames: ['event'], registers })
    this.#commits = new Histogram({
      name: 'readyroom_commit_duration_seconds', help: 'From a decision to its being durable.', buckets: COMMIT_SECONDS, registers
    })
    this.#failures = new Counter({ name: 'readyroom_commit_failures_total', help: 'Changes that could not be made durable.', registers })
    this.#waiters = gauge('readyroom_waiters', 'Calls that wait for an answer.')
    this.#streams = gauge('readyroom_event_streams', 'Event streams that are open, one a page.')
    new Gauge({ name: 'readyroom_build_info', help: 'The release; always 1.', labelNames: ['version'], registers }).set({ version }, 1)
    for (const event of EVENTS) this.#events.inc({ event }, 0)
  }

  get contentType (): string { return this.#registry.contentType }

  /** The store, with its commits measured. */
  measured (store: TicketStore): TicketStore {
    return {
      load: () => store.load(),
      list: filter => store.list(filter),
      get: id => store.get(id),
      since: (seq, limit) => store.since(seq, limit),
      head: () => store.head(),
      history: (before, limit) => store.history(before, limit),
      close: () => store.close(),
      commit: async decision => {
        const start = performance.now()
        try {
          const entry = await store.commit(decision)
          this.#commits.observe((performance.now() - start) / 1_000)
          return entry
        } catch (err) {
          // Somebody who was faster is no failure: the desk decides again.
          if ((err as { code?: unknown }).code !== 'STALE_WRITE') this.#failures.inc()
          throw err
        }
      }
    }
  }

  /** What is asked whenever somebody wants the text. Called once, before that. */
  watch (watched: Watched): void {
    this.#watched = watched
    watched.desk.subscribe(({ event }) => { this.#events.inc({ event }) })
  }

  /** The text format of Prometheus, with what is due settled before it is counted. */
  async text (): Promise<string> {
    const { desk, presence, ticketStore } = this.#watched!
    await desk.expireDue()
    const tickets = await ticketStore.list({ status: 'pending' })
    for (const urgency of URGENCIES) this.#pending.set({ urgency }, tickets.filter(ticket => ticket.urgency === urgency).length)
    const oldest = tickets.reduce((min, { created_at: at }) => Math.min(min, Date.parse(at)), Infinity)
    this.#oldest.set(Math.max(0, oldest === Infinity ? 0 : (desk.now() - oldest) / 1_000))
    this.#waiters.set(desk.waiting)
    this.#streams.set(presence.streams)
    return this.#registry.metrics()
  }
}
