import type { RoomEventKind } from '../../schemas/room'
import type { RoomDesk } from './desk'

/** How many rows go in one step. Whoever else needs the database gets it between two steps. */
const STEP = 500

/** How long nothing was heard of somebody who has left, in milliseconds. */
const LEFT_MS = 24 * 3_600_000

/** After the start, before the first round, in milliseconds. */
const FIRST_MS = 5_000

/** A lease may have been renewed, which makes no event: its end is looked at again, at most this often, in milliseconds. */
const SOONEST_MS = 250

/** After these a lease may end sooner than was known. */
const LEASES: ReadonlySet<RoomEventKind> = new Set(['task_claimed', 'task_unblocked'])

interface Log { warn (fields: object, message: string): void }

export interface SweeperOptions {
  rooms: RoomDesk
  log: Log
  /** Whether what is over is taken away. Leases end and tokens' uses are noted all the same. */
  prune?: boolean | undefined
  /** Milliseconds between two rounds. */
  intervalMs: number
  /** Milliseconds before the first one. */
  firstMs?: number | undefined
  now?: (() => number) | undefined
}

/**
 * Does what nobody asks for: takes away what a room no longer keeps, lets leases lapse soon after their end, notes when
 * tokens were used, and says who has left. In small steps, each a transaction; a failure is logged, and tried next time.
 */
export class RoomSweeper {
  readonly #options: SweeperOptions
  readonly #now: () => number
  readonly #since: number
  #round: ReturnType<typeof setTimeout> | undefined
  #lease: ReturnType<typeof setTimeout> | undefined
  #under = Promise.resolve()
  #isClosed = false
  #stop = (): void => {}

  constructor (options: SweeperOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#since = this.#now()
  }

  start (): void {
    const { rooms, firstMs = FIRST_MS } = this.#options
    this.#stop = rooms.feed.overhear(event => { if (LEASES.has(event.kind)) this.#look() })
    this.#plan(firstMs)
    this.#look()
  }

  /** One round, whole. Never rejects. */
  async round (): Promise<void> {
    const { rooms, prune = true } = this.#options
    await this.#try(async () => {
      const uses = rooms.tokens.takeUses()
      if (uses.length > 0) await rooms.run('noteTokenUse', rooms.system(), { uses })
      for (const { room } of (await rooms.run('listRooms', rooms.system(), {})).rooms) {
        if (this.#isClosed) return
        await rooms.run('lapseLeases', rooms.system(room), {})
        // Before this, who is there has had no chance yet to be heard.
        const silentSince = this.#now() - LEFT_MS
        if (this.#since <= silentSince) await rooms.run('leaveSilent', rooms.system(room), { here: rooms.presence.heardSince(room, silentSince) })
        if (prune) await this.#prune(room)
      }
      for (let more = true; more && !this.#isClosed;) ({ more } = await rooms.run('forgetCalls', rooms.system(), { limit: STEP }))
    })
  }

  /** Resolves when nothing of it runs any more. Idempotent. */
  async close (): Promise<void> {
    this.#isClosed = true
    this.#stop()
    clearTimeout(this.#round)
    clearTimeout(this.#lease)
    await this.#under
  }

  async #prune (room: string): Promise<void> {
    const { rooms } = this.#options
    for (const command of ['sweepFiles', 'sweepRoom'] as const) {
      for (let more = true; more && !this.#isClosed;) ({ more } = await rooms.run(command, rooms.system(room), { limit: STEP }))
    }
  }

  #plan (ms: number): void {
    if (this.#isClosed) return
    this.#round = setTimeout(() => {
      this.#under = this.#under.then(() => this.round())
      this.#under.then(() => { this.#plan(this.#options.intervalMs) })
    }, ms)
    this.#unref(this.#round)
  }

  /** Sets the timer of the lease that ends first. */
  #look (): void {
    this.#under = this.#under.then(() => this.#try(async () => {
      const { rooms } = this.#options
      const next = this.#isClosed ? null : await rooms.run('nextLease', rooms.system(), {})
      clearTimeout(this.#lease)
      if (next === null || this.#isClosed) return
      this.#lease = setTimeout(() => { this.#end(next.room) }, Math.max(SOONEST_MS, Date.parse(next.at) - this.#now()))
      this.#unref(this.#lease)
    }))
  }

  #end (room: string): void {
    const { rooms } = this.#options
    this.#under = this.#under.then(() => this.#try(async () => { if (!this.#isClosed) await rooms.run('lapseLeases', rooms.system(room), {}) }))
    this.#look()
  }

  async #try (what: () => Promise<void>): Promise<void> {
    try {
      await what()
    } catch (err) {
      if (!this.#isClosed) this.#options.log.warn({ err }, 'The rooms could not be swept; it is tried again next time')
    }
  }

  /** No process stays for it. */
  #unref (timer: ReturnType<typeof setTimeout>): void {
    (timer as { unref?: () => void }).unref?.()
  }
}
