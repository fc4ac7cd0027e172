export interface CoalescerOptions<Item> {
  /** At most one line in this time for what is not urgent, in milliseconds. 0: each by itself, at once. */
  intervalMs: number
  /** Urgent ones that come together are one line: it goes out when none has come for this long. */
  burstMs?: number
  /** And at the latest after this. */
  burstMaxMs?: number
  /** What is said together, oldest first. */
  flush: (items: Item[]) => void
}

const BURST_MS = 150
const BURST_MAX_MS = 2_000

/** Holds what need not be said at once, since everything that is said is a turn that somebody pays for. */
export class Coalescer<Item> {
  readonly #intervalMs: number
  readonly #burstMs: number
  readonly #burstMaxMs: number
  readonly #flush: (items: Item[]) => void
  #held: Item[] = []
  #window: NodeJS.Timeout | undefined
  #burst: NodeJS.Timeout | undefined
  #latest: NodeJS.Timeout | undefined

  constructor ({ intervalMs, burstMs = BURST_MS, burstMaxMs = BURST_MAX_MS, flush }: CoalescerOptions<Item>) {
    this.#intervalMs = intervalMs
    this.#burstMs = burstMs
    this.#burstMaxMs = burstMaxMs
    this.#flush = flush
  }

  /** The oldest that has not been said yet. */
  get oldest (): Item | undefined { return this.#held[0] }

  hear (item: Item, isUrgent: boolean): void {
    this.#held.push(item)
    if (this.#intervalMs === 0) return this.flush()
    if (isUrgent) {
      clearTimeout(this.#burst)
      this.#burst = setTimeout(() => { this.flush() }, this.#burstMs)
      this.#latest ??= setTimeout(() => { this.flush() }, this.#burstMaxMs)
    } else {
      this.#window ??= setTimeout(() => { this.flush() }, this.#intervalMs)
    }
  }

  /** Says what is held, now. */
  flush (): void {
    const items = this.#held
    this.stop()
    if (items.length > 0) this.#flush(items)
  }

  /** Lets go of what is held. */
  stop (): void {
    for (const timer of [this.#window, this.#burst, this.#latest]) clearTimeout(timer)
    this.#window = this.#burst = this.#latest = undefined
    this.#held = []
  }
}
