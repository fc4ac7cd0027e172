import { DurableObject } from 'cloudflare:workers'
import { Desk } from '../lib/desk'
import { OWNER } from '../lib/principal'
import { DurableObjectTicketStore } from './durable-store'
import { LOG } from './log'
import type { QueueStatus } from './queue-status'
import { createRouter } from './router'
import { VERSION } from './version'

/** How long `wait_for_answer` may hold a request here, in milliseconds. */
const MAX_WAIT_MS = 5_000

/**
 * One queue: it owns the store and the desk, and runs the router inside itself, so that only responses cross to the
 * entry; an error thrown across would arrive without its code. Nothing in it runs while nobody asks, so it sleeps.
 */
export class QueueObject extends DurableObject {
  readonly #instance = crypto.randomUUID()
  readonly #desk: Desk
  readonly #router: ReturnType<typeof createRouter>

  constructor (ctx: DurableObjectState, env: object) {
    super(ctx, env)
    const store = new DurableObjectTicketStore(ctx.storage, { instance: this.#instance })
    this.#desk = new Desk(store, { log: LOG })
    this.#router = createRouter({ desk: this.#desk, version: VERSION, principal: OWNER, log: LOG, maxWaitMs: MAX_WAIT_MS })
    // Where this fails the object is reset, and the next request begins anew.
    ctx.blockConcurrencyWhile(async () => {
      await store.load()
      await this.#desk.open()
    }).catch(() => {})
  }

  override fetch (request: Request): Promise<Response> {
    return this.#router.fetch(request)
  }

  /** Settles what is due, for a Cron Trigger: nothing depends on it, since every read does the same. */
  async expireDue (): Promise<QueueStatus> {
    await this.#desk.expireDue()
    return this.status()
  }

  status (): QueueStatus {
    return { instance: this.#instance, pending: this.#desk.pendingCount, waiting: this.#desk.waiting, seq: this.#desk.head().seq }
  }
}
