import type { Desk } from '../desk'
import type { Presence } from '../presence'
import type { AttachedClients } from './attached'

export interface LingerTimings {
  /** Between two looks at what is due, in milliseconds. */
  lookMs: number
  /** Between two looks while nothing is pending but a page or a client is there, in milliseconds. */
  idleLookMs: number
  /** How long nothing may wait for a lingering daemon before it ends, in milliseconds. */
  graceMs: number
}

export const LINGER_TIMINGS: LingerTimings = { lookMs: 60_000, idleLookMs: 1_000, graceMs: 5_000 }

export interface Lingering {
  desk: Desk
  presence: Presence
  clients: AttachedClients
  /** Called once, when nothing has waited for the daemon for a while. */
  onIdle (): void
  timings?: LingerTimings
}

/** Watches whether anything still waits for a daemon that an agent has left behind. */
export class Linger {
  readonly #of: Lingering
  readonly #timings: LingerTimings
  readonly #unsubscribe: () => void
  #look: ReturnType<typeof setTimeout> | undefined
  #grace: ReturnType<typeof setTimeout> | undefined
  #stopped = false

  constructor (of: Lingering) {
    this.#of = of
    this.#timings = of.timings ?? LINGER_TIMINGS
    this.#unsubscribe = of.desk.subscribe(() => this.#judge())
    of.clients.onChange(() => this.#judge())
    this.#judge()
  }

  stop (): void {
    this.#stopped = true
    this.#unsubscribe()
    clearTimeout(this.#look)
    clearTimeout(this.#grace)
  }

  get #idle (): boolean {
    const { desk, presence, clients } = this.#of
    return desk.pendingCount === 0 && clients.size === 0 && !presence.isPageOpen()
  }

  #judge (): void {
    if (this.#stopped) return
    clearTimeout(this.#look)
    if (!this.#idle) {
      clearTimeout(this.#grace)
      this.#grace = undefined
      const { lookMs, idleLookMs } = this.#timings
      this.#look = setTimeout(() => this.#lookAround(), this.#of.desk.pendingCount === 0 ? idleLookMs : lookMs)
      return
    }
    this.#grace ??= setTimeout(() => {
      this.#grace = undefined
      if (!this.#idle) return this.#judge()
      this.stop()
      this.#of.onIdle()
    }, this.#timings.graceMs)
  }

  async #lookAround (): Promise<void> {
    // What cannot be saved as expired stays pending and is looked at again.
    await this.#of.desk.expireDue().catch(() => {})
    this.#judge()
  }
}
