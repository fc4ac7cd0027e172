import { DurableObject } from 'cloudflare:workers'
import { Desk } from '../lib/desk'
import { Doors } from '../lib/doors'
import { Identity } from '../lib/identity'
import { RoomDesk } from '../lib/room/desk'
import { TicketJoiner } from '../lib/room/ticket-joiner'
import { DurableObjectTicketStore } from './durable-store'
import { LOG } from './log'
import type { QueueStatus } from './queue-status'
import { hasRooms, registryStub, roomStub, type RoomsEnv } from './rooms/objects'
import { RoomObjectsStore } from './rooms/room-objects-store'
import { createRouter } from './router'
import { readSettings, type Settings, type SettingsEnv } from './settings'
import { VERSION } from './version'

/** How long `wait_for_answer` and `wait_for_change` may hold a request here, in milliseconds. */
const MAX_WAIT_MS = 5_000

/** How often it is kept that a token is used, in milliseconds: each time is a call to the registry. */
const USES_EVERY_MS = 3_600_000

type Env = SettingsEnv & Partial<RoomsEnv>

/**
 * One queue: it owns the store and the desk, and runs the router inside itself, so that only responses cross to the
 * entry; an error thrown across would arrive without its code. Nothing in it runs while nobody asks, so it sleeps.
 *
 * It leads to the rooms, too, which live in objects of their own: whoever comes through here is known by their token at
 * every call, and what becomes of the tickets is brought into the rooms before anybody gets in.
 */
export class QueueObject extends DurableObject<Env> {
  readonly #instance = crypto.randomUUID()
  readonly #desk: Desk
  readonly #rooms: RoomDesk | undefined
  readonly #router: ReturnType<typeof createRouter>
  #joiner: TicketJoiner | undefined

  constructor (ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    const settings = readSettings(env)
    const store = new DurableObjectTicketStore(ctx.storage, { instance: this.#instance })
    this.#desk = new Desk(store, { log: LOG })
    this.#rooms = hasRooms(env) ? this.#openRooms(env, settings) : undefined
    const identity = new Identity({ token: settings.token, tokens: this.#rooms?.tokens })
    const doors = new Doors({ desk: this.#desk, identity, rooms: this.#rooms })
    this.#router = createRouter({ desk: this.#desk, version: VERSION, doors, settings, log: LOG, maxWaitMs: MAX_WAIT_MS })
    // Where this fails the object is reset, and the next request begins anew.
    ctx.blockConcurrencyWhile(async () => {
      await store.load()
      await this.#desk.open()
    }).catch(() => {})
  }

  override async fetch (request: Request): Promise<Response> {
    const response = await this.#router.fetch(request)
    this.#noteUses()
    return response
  }

  /** A ticket may be due that a task waits for. What it becomes is in the rooms when this resolves. */
  override async alarm (): Promise<void> {
    await this.#rooms?.open()
    await this.#desk.expireDue()
    await this.#joiner?.settled()
  }

  /** Settles what is due, for a Cron Trigger: nothing depends on it, since every read does the same. */
  async expireDue (): Promise<QueueStatus> {
    await this.#desk.expireDue()
    return this.status()
  }

  status (): QueueStatus {
    return { instance: this.#instance, pending: this.#desk.pendingCount, waiting: this.#desk.waiting, seq: this.#desk.head().seq }
  }

  /** When tokens were last used, which the registry keeps. Nobody waits for it. */
  #noteUses (): void {
    const rooms = this.#rooms
    const uses = rooms?.tokens.takeUses(USES_EVERY_MS) ?? []
    if (uses.length === 0) return
    rooms!.run('noteTokenUse', rooms!.system(), { uses }).catch((err: unknown) => {
      LOG.warn({ err }, 'When a token was last used could not be kept; it is with its next use in an hour')
    })
  }

  /** Nothing of the rooms is asked or kept before somebody shows a token. */
  #openRooms (env: RoomsEnv, { queue, adminApi, announceUpgrades: announce }: Settings): RoomDesk {
    const { storage } = this.ctx
    const rooms = new RoomDesk({
      store: new RoomObjectsStore({
        queue,
        notes: storage.kv,
        room: name => roomStub(env, queue, name),
        registry: () => registryStub(env, queue),
        since: (seq, limit) => this.#desk.since(seq, limit),
        onLost: () => { this.#joiner?.mend() }
      }),
      maxWaitMs: MAX_WAIT_MS,
      adminApi
    })
    rooms.onOpen = async () => {
      await this.#joiner?.close()
      this.#joiner = new TicketJoiner({ desk: this.#desk, rooms, log: LOG, later: ms => this.#later(ms) })
      await this.#joiner.start()
      await rooms.run('noteVersion', rooms.system(), { version: VERSION, announce })
    }
    return rooms
  }

  /** An alarm, since a timer is gone with an object that sleeps. It looks at everything that is due, whoever set it. */
  #later (ms: number): () => void {
    const { storage } = this.ctx
    const warn = (err: unknown): void => { LOG.warn({ err }, 'An alarm could not be set; what is due is settled when it is read') }
    storage.setAlarm(Date.now() + ms).catch(warn)
    return () => { storage.deleteAlarm().catch(warn) }
  }
}
