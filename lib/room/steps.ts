import type { CompiledQuery, Compilable } from 'kysely'

/**
 * What a room command does to its database: a generator that yields queries and gets their rows. One text of it serves
 * engines that answer at once (SQLite in a thread or in a Durable Object, where a transaction may not wait) and engines
 * that answer later (PostgreSQL): who drives it decides.
 */
export type Steps<T> = Generator<CompiledQuery, T, unknown[]>

/** A database that answers at once. Rows have plain values: text, numbers, bytes, null. */
export interface SyncSql { all (sql: string, parameters: readonly unknown[]): unknown[] }

/** All rows of a query. */
export function * all<Row> (query: Compilable<Row>): Steps<Row[]> {
  return (yield query.compile()) as Row[]
}

/** The first row of a query, or undefined. */
export function * first<Row> (query: Compilable<Row>): Steps<Row | undefined> {
  return (yield * all(query))[0]
}

/** The one row of a query that always has one. */
export function * one<Row> (query: Compilable<Row>): Steps<Row> {
  const row = yield * first(query)
  if (row === undefined) throw new Error('A query that always has a row had none')
  return row
}

/** Runs a query for what it changes. */
export function * run (query: Compilable<unknown>): Steps<void> {
  yield query.compile()
}

/** Drives the steps on a database that answers at once. What the steps throw is thrown here. */
export function drive<T> (sql: SyncSql, steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) {
    let rows: unknown[]
    try {
      rows = sql.all(step.value.sql, step.value.parameters)
    } catch (err) {
      step = steps.throw(err)
      continue
    }
    step = steps.next(rows)
  }
  return step.value
}
