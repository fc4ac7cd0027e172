/** How often deadlines are held against the wall clock, in milliseconds. */
const SWEEP_MS = 1_000

export interface WaitUntil {
  /** How long at most, in milliseconds. */
  ms: number
  /** In how many milliseconds the ticket wants to be looked at again: at its `expires_at`. */
  wakeInMs: number
  signal?: AbortSignal | undefined
}

/** One wait. Enter before reading the ticket, so that a change between the read and the wait is not missed. */
export interface Waiter {
  /** Resolves when it is worth reading the ticket again: at once where it changed since the last call. Never rejects. */
  until (options: WaitUntil): Promise<void>
  leave (): void
}

interface Entry { changed: boolean, wallEnd: number, wake: (() => void) | undefined }

/**
 * Who in this process waits for which ticket. A wait ends when the ticket changes, at its end on the monotonic or the
 * wall clock, whichever comes first (a laptop that slept has a late monotonic clock, a corrected board a wrong wall
 * clock), when it is aborted, or when everything closes. What the ticket then is, the caller reads anew.
 */
export class Waiters {
  readonly #byId = new Map<string, Set<Entry>>()
  readonly #wallClock: () => number
  #size = 0
  #sweep: ReturnType<typeof setInterval> | undefined
  #closed = false

  constructor (wallClock: () => number = Date.now) {
    this.#wallClock = wallClock
  }

  get closed (): boolean { return this.#closed }

  /** How many wait now. */
  get size (): number { return this.#size }

  enter (id: string): Waiter {
    const entry: Entry = { changed: false, wallEnd: Infinity, wake: undefined }
    this.#add(id, entry)
    return {
      until: options => this.#until(entry, options),
      leave: () => { this.#remove(id, entry) }
    }
  }

  /** Wakes whoever waits for this ticket. */
  wake (id: string): void {
    for (const entry of this.#byId.get(id) ?? []) {
      entry.changed = true
      entry.wake?.()
    }
  }

  /** Wakes everybody; later waits end at once. */
  close (): void {
    this.#closed = true
    for (const id of this.#byId.keys()) this.wake(id)
  }

  async #until (entry: Entry, { ms, wakeInMs, signal }: WaitUntil): Promise<void> {
    if (!entry.changed && !this.#closed && !signal?.aborted) {
      const delay = Math.max(0, Math.min(ms, wakeInMs))
      await new Promise<void>(resolve => {
        const wake = (): void => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', wake)
          entry.wake = undefined
          resolve()
        }
        const timer = setTimeout(wake, delay)
        signal?.addEventListener('abort', wake, { once: true })
        entry.wallEnd = this.#wallClock() + delay
        entry.wake = wake
      })
    }
    entry.changed = false
  }

  #add (id: string, entry: Entry): void {
    const entries = this.#byId.get(id)
    if (entries) entries.add(entry)
    else this.#byId.set(id, new Set([entry]))
    this.#size++
    this.#sweep ??= setInterval(() => this.#wakeDue(), SWEEP_MS)
  }

  #remove (id: string, entry: Entry): void {
    const entries = this.#byId.get(id)
    if (!entries?.delete(entry)) return
    if (entries.size === 0) this.#byId.delete(id)
    this.#size--
    if (this.#size === 0 && this.#sweep !== undefined) {
      clearInterval(this.#sweep)
      this.#sweep = undefined
    }
  }

  #wakeDue (): void {
    const now = this.#wallClock()
    for (const entries of this.#byId.values()) {
      for (const entry of entries) {
        if (now >= entry.wallEnd) entry.wake?.()
      }
    }
  }
}
