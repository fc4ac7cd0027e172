/** How long a page that polls counts as open after a read of the list, in milliseconds. A hidden page polls once a minute. */
const POLL_COUNTS_MS = 75_000
/** How long a read counts that none came before: a page opens its stream by then, or has read again; a script has not. */
const FIRST_COUNTS_MS = 10_000

/** Whether a heads-up page is open somewhere: a queue that a person is looking at is not closed under their eyes. */
export class Presence {
  readonly #now: () => number
  #streams = 0
  /** Until when somebody counts as polling. */
  #polledUntil = -Infinity
  #lastPoll = -Infinity

  /** `now` is a monotonic clock, in milliseconds. */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** How many event streams are open. */
  get streams (): number { return this.#streams }

  /** Counts an open event stream; returns how to say, once, that it has ended. The page that read the list before is the one that opens it. */
  openStream (): () => void {
    this.#streams++
    this.#lastPoll = -Infinity
    this.#polledUntil = -Infinity
    let open = true
    return () => {
      if (open) this.#streams--
      open = false
    }
  }

  /** A page has read the list. */
  notePoll (): void {
    const now = this.#now()
    this.#polledUntil = now + (now - this.#lastPoll < POLL_COUNTS_MS ? POLL_COUNTS_MS : FIRST_COUNTS_MS)
    this.#lastPoll = now
  }

  isPageOpen (): boolean {
    return this.#streams > 0 || this.#now() < this.#polledUntil
  }
}
