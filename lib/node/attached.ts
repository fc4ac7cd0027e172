export interface AttachedClient {
  /** For people to read. */
  pid: number
  version: string
  /** Tells it why the daemon is about to end. */
  say (word: string): void
  end (): void
}

/** The client processes that this daemon serves now: each holds a stream open, which ends with either side. */
export class AttachedClients {
  readonly #clients = new Set<AttachedClient>()
  readonly #listeners = new Set<() => void>()

  get size (): number { return this.#clients.size }

  list (): Array<{ pid: number, version: string }> {
    return [...this.#clients].map(({ pid, version }) => ({ pid, version }))
  }

  /** Returns how to say that it has gone. */
  add (client: AttachedClient): () => void {
    this.#clients.add(client)
    this.#changed()
    return () => {
      if (this.#clients.delete(client)) this.#changed()
    }
  }

  /** Hears of every one that comes or goes. */
  onChange (listener: () => void): void {
    this.#listeners.add(listener)
  }

  say (word: string): void {
    for (const client of this.#clients) client.say(word)
  }

  endAll (): void {
    for (const client of this.#clients) client.end()
  }

  #changed (): void {
    for (const listener of this.#listeners) listener()
  }
}
