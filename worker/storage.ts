/** As much of a Durable Object's storage as a queue needs: its SQLite, and one transaction in it. */
export interface QueueStorage {
  readonly sql: {
    exec<Row extends Record<string, string | number>> (query: string, ...bindings: Array<string | number>): Iterable<Row> & { toArray (): Row[] }
  }
  /** All of it or nothing. `run` may not wait for anything. */
  transactionSync<T> (run: () => T): T
  /** Resolves when everything that was written is durable. */
  sync (): Promise<void>
}
