import type { SyncSql } from '../../lib/room/steps'

/** How many values one query may bind in a Durable Object. */
const MOST_BOUND = 100

/** As much of a Durable Object's storage as a room needs. */
export interface RoomStorage {
  readonly sql: { exec (query: string, ...bindings: unknown[]): Iterable<Record<string, unknown>> }
  /** All of it or nothing. `run` may not wait for anything. */
  transactionSync<T> (run: () => T): T
}

/**
 * Whole numbers written into the text of a query that binds too many values, as a sweep does with its ids. The text is
 * that of a query builder: no question mark stands in it but those of its values.
 */
export function withoutNumbers (sql: string, parameters: readonly unknown[]): { sql: string, parameters: unknown[] } {
  const left: unknown[] = []
  let at = 0
  const text = sql.replaceAll('?', () => {
    const value = parameters[at++]
    if (Number.isSafeInteger(value)) return String(value)
    left.push(value)
    return '?'
  })
  return { sql: text, parameters: left }
}

/** Bytes come as a buffer, and the commands read them as an array of bytes. */
function plain (row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value)
  return row
}

/** The SQLite of a Durable Object as the commands drive it. */
export function syncSql ({ sql }: Pick<RoomStorage, 'sql'>): SyncSql {
  return {
    all (text, parameters) {
      const query = parameters.length <= MOST_BOUND ? { sql: text, parameters } : withoutNumbers(text, parameters)
      return Array.from(sql.exec(query.sql, ...query.parameters), plain)
    }
  }
}
