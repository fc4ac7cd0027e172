import type { QueueStorage } from './storage'

/**
 * What each version of the queue's tables adds, from the first: never changed once released, only added to. `audit` is
 * the record: one line a change, as `audit.jsonl` has it, and the only place that holds a ticket's text. `tickets` says
 * which line is a ticket's newest, and finds tickets by how they stand.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE audit (seq INTEGER PRIMARY KEY, line TEXT NOT NULL);
   CREATE TABLE tickets (id TEXT PRIMARY KEY, rev INTEGER NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX tickets_by_status ON tickets (status, at);
   CREATE INDEX tickets_settled ON tickets (seq) WHERE status <> 'pending';`
]

/**
 * Brings the tables to the newest version, all of it or nothing.
 * @throws Error when a newer release has written them.
 */
export function migrate (storage: QueueStorage, migrations = MIGRATIONS): void {
  const { sql } = storage
  sql.exec('CREATE TABLE IF NOT EXISTS schema (version INTEGER NOT NULL)')
  const version = sql.exec<{ version: number }>('SELECT version FROM schema').toArray()[0]?.version ?? 0
  if (version > migrations.length) {
    throw new Error(`The queue's tables are of version ${version}, and this release knows ${migrations.length}: deploy the newer release again.`)
  }
  if (version === migrations.length) return
  storage.transactionSync(() => {
    for (const statements of migrations.slice(version)) sql.exec(statements)
    sql.exec('DELETE FROM schema')
    sql.exec('INSERT INTO schema VALUES (?)', migrations.length)
  })
}
