/** As much of a logger as the store needs; pino's is one. */
export interface Log {
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}

export const silentLog: Log = { info () {}, warn () {}, error () {} }
