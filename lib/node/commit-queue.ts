/** How many commits one write carries at most. */
const MAX_BATCH = 256

interface Waiting<T, R> { item: T, resolve: (result: R) => void, reject: (err: unknown) => void }

/**
 * Group commit: one write is under way at a time, and all that arrives meanwhile goes into the next one together. The
 * cost of a sync is shared by everybody who waits for it. Results come in the order of arrival.
 */
export class CommitQueue<T, R> {
  readonly #write: (items: T[]) => Promise<R[]>
  #waiting: Array<Waiting<T, R>> = []
  #running = false

  /** `write` gives a result for each item, or throws for all of them. */
  constructor (write: (items: T[]) => Promise<R[]>) {
    this.#write = write
  }

  push (item: T): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    this.#waiting.push({ item, resolve, reject })
    if (!this.#running) {
      this.#running = true
      this.#later()
    }
    return promise
  }

  // At the end of this turn of the event loop, so that calls which came in the same one share a write, and so that those
  // whom the write before has answered can come back in time for the next.
  #later (): void {
    setImmediate(() => this.#run())
  }

  async #run (): Promise<void> {
    const batch = this.#waiting.splice(0, MAX_BATCH)
    try {
      const results = await this.#write(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, i) => resolve(results[i] as R))
    } catch (err) {
      for (const { reject } of batch) reject(err)
    }
    if (this.#waiting.length > 0) this.#later()
    else this.#running = false
  }
}
