import { chmodSync, rmSync } from 'node:fs'
import type { StatementSync } from 'node:sqlite'
import { NO_HASH } from '../audit'
import type { LogMark } from './audit-log'
import { type Database, openDatabase } from './sqlite'

/** Where in the audit log an entry stands, and what it left its ticket as. */
export interface EntryPlace { seq: number, id: string, settled: boolean, hash: string, start: number, end: number }

export type FoundPlace = Pick<EntryPlace, 'seq' | 'start' | 'end'>

export const START: LogMark = { head: { seq: 0, hash: NO_HASH, at: undefined }, end: 0 }

// The version stands in `user_version`; a file of another one is made anew from the log.
const VERSION = 1

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (seq INTEGER PRIMARY KEY, start INTEGER NOT NULL, stop INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS tickets (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, settled INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS settled ON tickets (seq) WHERE settled = 1;
  CREATE TABLE IF NOT EXISTS mark (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER, hash TEXT, stop INTEGER);
  PRAGMA user_version = ${VERSION};
`

const MEMORY = ':memory:'

/**
 * The tables behind the index of the audit log. They hold nothing that the log does not: whoever doubts them deletes
 * them. Synchronous calls, since each is a few look-ups in pages that are in memory.
 */
export class IndexDb {
  readonly #db: Database
  readonly #byId: StatementSync
  readonly #bySeq: StatementSync
  readonly #settled: StatementSync
  readonly #putEntry: StatementSync
  readonly #putTicket: StatementSync
  readonly #putMark: StatementSync

  private constructor (db: Database) {
    this.#db = db
    this.#byId = db.prepare('SELECT seq, start, stop FROM tickets JOIN entries USING (seq) WHERE id = ?')
    this.#bySeq = db.prepare('SELECT seq, start, stop FROM entries WHERE seq = ?')
    this.#settled = db.prepare('SELECT id, seq, start, stop FROM tickets JOIN entries USING (seq) WHERE settled = 1 AND tickets.seq < ? ORDER BY tickets.seq DESC')
    this.#putEntry = db.prepare('INSERT OR REPLACE INTO entries VALUES (?, ?, ?)')
    this.#putTicket = db.prepare('INSERT INTO tickets VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, settled = excluded.settled')
    this.#putMark = db.prepare('INSERT OR REPLACE INTO mark VALUES (1, ?, ?, ?)')
  }

  /** Opens what is there, or makes it. Throws for a file that is no index of this version. */
  static open (path: string): IndexDb {
    const db = openDatabase(path)
    try {
      // Nobody else reads it, so no shared memory file is needed. A power cut may take the last rows, never the order
      // of the tables: what is missing is read from the log again.
      db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000')
      if (path !== MEMORY) chmodSync(path, 0o600)
      const version = db.prepare('PRAGMA user_version').get()?.user_version
      if (version !== 0 && version !== VERSION) throw new Error(`index of version ${String(version)}`)
      db.exec(SCHEMA)
      return new IndexDb(db)
    } catch (err) {
      db.close()
      throw err
    }
  }

  /** One that holds its rows in memory, for a disk that takes none. */
  static inMemory (): IndexDb {
    return IndexDb.open(MEMORY)
  }

  static remove (path: string): void {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
  }

  /** Up to where in the log these tables go. Throws when they contradict themselves. */
  mark (): LogMark {
    const row = this.#db.prepare('SELECT seq, hash, stop, (SELECT max(seq) FROM entries) AS last FROM mark').get()
    if (row === undefined) return START
    if (row.last !== row.seq) throw new Error('the index does not hold what it says')
    return { head: { seq: Number(row.seq), hash: String(row.hash), at: undefined }, end: Number(row.stop) }
  }

  /** Adds the places that follow the mark, all or none. */
  put (places: EntryPlace[]): void {
    const last = places.at(-1)
    if (last === undefined) return
    this.#db.exec('BEGIN')
    try {
      for (const { seq, id, settled, start, end } of places) {
        this.#putEntry.run(seq, start, end)
        this.#putTicket.run(id, seq, settled ? 1 : 0)
      }
      this.#putMark.run(last.seq, last.hash, last.end)
      this.#db.exec('COMMIT')
    } catch (err) {
      // SQLite has already rolled back where the disk was full.
      try { this.#db.exec('ROLLBACK') } catch {}
      throw err
    }
  }

  /** The latest entry of a ticket. */
  ticket (id: string): FoundPlace | undefined {
    return placeOf(this.#byId.get(id))
  }

  entry (seq: number): FoundPlace | undefined {
    return placeOf(this.#bySeq.get(seq))
  }

  /** Tickets whose latest entry settled them, with a seq below `before`, newest first. */
  * settled (before: number): Generator<FoundPlace & { id: string }> {
    for (const row of this.#settled.iterate(before)) yield { ...placeOf(row)!, id: String(row.id) }
  }

  close (): void {
    this.#db.close()
  }
}

function placeOf (row: Record<string, unknown> | undefined): FoundPlace | undefined {
  return row && { seq: Number(row.seq), start: Number(row.start), end: Number(row.stop) }
}
