import { join } from 'node:path'
import type { AuditEntry } from '../../schemas/event'
import type { AuditLog, LogMark } from './audit-log'
import { type EntryPlace, type FoundPlace, IndexDb, START } from './index-db'
import type { Log } from './log'
import { DamagedLogError, replay } from './replay'

export const INDEX_FILE = 'index.db'

/** Rows of one transaction. */
const SLICE = 1_000
/** How long rows gather before they are written, in milliseconds. */
const GATHER_MS = 500
/** How long after a failure they are tried again, in milliseconds. */
const RETRY_MS = 30_000

export interface IndexOptions { dir: string, log: Log }

/**
 * Finds the place in the audit log of any entry, of any ticket's latest one, and of the settled tickets in order. It is
 * written behind the commits, in rows at a time: what the tables do not have yet is held in memory beside them, so that
 * every answer is about all that is durable. Nothing depends on it that the log could not give again.
 */
export class TicketIndex {
  readonly #path: string
  readonly #log: Log
  #db: IndexDb
  /** The entries behind the tables' mark, without a gap. */
  #tail: EntryPlace[] = []
  /** The last of them for each ticket. */
  readonly #latest = new Map<string, EntryPlace>()
  #timer: NodeJS.Timeout | undefined
  #slice: NodeJS.Immediate | undefined
  #rebuilding: Promise<void> | undefined
  // While the tables are made anew no rows are written, so that the tail goes on where they will end.
  #paused = false
  // Set once the disk has taken no rows while the log was read: not tried again at each of them.
  #stuck = false
  #closed = false

  private constructor ({ dir, log }: IndexOptions, db: IndexDb) {
    this.#path = join(dir, INDEX_FILE)
    this.#db = db
    this.#log = log
  }

  /** Opens the index; one that cannot be right for this log is made anew. `mark` says from where it must be fed. */
  static async open (options: IndexOptions, auditLog: AuditLog, size: number): Promise<{ index: TicketIndex, mark: LogMark }> {
    const { dir, log } = options
    const path = join(dir, INDEX_FILE)
    let db: IndexDb | undefined
    try {
      db = IndexDb.open(path)
      const mark = db.mark()
      if (mark.end <= size && (mark.end === 0 || await auditLog.holds(mark))) return { index: new TicketIndex(options, db), mark }
      log.warn({ file: path }, 'The index does not belong to this audit log. It is made anew.')
    } catch (err) {
      log.warn({ file: path, err }, 'The index cannot be read. It is made anew from the audit log.')
    }
    db?.close()
    return { index: new TicketIndex(options, fresh(path, log)), mark: START }
  }

  /** How many entries are held in memory because the tables do not have them yet. */
  get waiting (): number {
    return this.#tail.length
  }

  /** Takes in the entry that follows the last one. */
  add (place: EntryPlace): void {
    this.#tail.push(place)
    this.#latest.set(place.id, place)
    this.#gather(GATHER_MS)
  }

  /** While the log is read at the start: rows are written as soon as there are many. */
  addFromLog (place: EntryPlace): void {
    this.#tail.push(place)
    this.#latest.set(place.id, place)
    if (this.#tail.length >= SLICE * 2 && !this.#stuck) this.#stuck = !this.#write(SLICE * 2)
  }

  /** The latest entry of a ticket. */
  ticket (id: string): FoundPlace | undefined {
    return this.#latest.get(id) ?? this.#db.ticket(id)
  }

  entry (seq: number): FoundPlace | undefined {
    const first = this.#tail[0]
    return first !== undefined && seq >= first.seq ? this.#tail[seq - first.seq] : this.#db.entry(seq)
  }

  /** Settled tickets whose latest entry has a seq below `before`, newest first, at most `limit`. */
  settled (before: number, limit: number): Array<FoundPlace & { id: string }> {
    const found: Array<FoundPlace & { id: string }> = []
    for (let i = this.#tail.length - 1; i >= 0 && found.length < limit; i--) {
      const place = this.#tail[i]!
      if (place.settled && place.seq < before && this.#latest.get(place.id) === place) found.push(place)
    }
    if (found.length >= limit) return found
    for (const place of this.#db.settled(before)) {
      // What the tail says about a ticket is newer.
      if (!this.#latest.has(place.id)) found.push(place)
      if (found.length >= limit) break
    }
    return found
  }

  /**
   * Makes the tables anew from the log, in memory: the file has proved wrong and goes, the next start writes another.
   * @throws DamagedLogError when it is the log that is wrong; the tables stay as they are
   */
  rebuild (auditLog: AuditLog): Promise<void> {
    // One that failed is not tried again: it read the whole log.
    this.#rebuilding ??= this.#rebuild(auditLog).finally(() => {
      this.#paused = false
      if (this.#tail.length > 0) this.#gather(GATHER_MS)
    })
    return this.#rebuilding
  }

  /** Writes what is still in memory. Resolves when no handle and no timer is left. */
  async close (): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    clearImmediate(this.#slice)
    await this.#rebuilding?.catch(() => {})
    while (this.#tail.length > 0 && this.#write(SLICE));
    this.#db.close()
  }

  #gather (ms: number): void {
    if (this.#closed || this.#paused) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#slices()
    }, ms)
  }

  // A slice a turn of the event loop: a caller waits for a few milliseconds at most.
  #slices (): void {
    if (this.#closed || this.#paused || this.#tail.length === 0) return
    if (!this.#write(SLICE)) this.#gather(RETRY_MS)
    else if (this.#tail.length >= SLICE) this.#slice = setImmediate(() => this.#slices())
    else if (this.#tail.length > 0) this.#gather(GATHER_MS)
  }

  #write (most: number): boolean {
    const places = this.#tail.slice(0, most)
    try {
      this.#db.put(places)
    } catch (err) {
      this.#log.warn({ file: this.#path, err }, 'The index could not be written. Nothing is lost: it stays in memory and is tried again.')
      return false
    }
    this.#tail = this.#tail.slice(places.length)
    for (const place of places) {
      if (this.#latest.get(place.id) === place) this.#latest.delete(place.id)
    }
    return true
  }

  async #rebuild (auditLog: AuditLog): Promise<void> {
    this.#log.warn({ file: this.#path }, 'The index led to a wrong place in the audit log. It is made anew.')
    this.#paused = true
    const db = IndexDb.inMemory()
    const to = this.#tail[0]?.start ?? auditLog.mark.end
    const rows: EntryPlace[] = []
    const { torn } = await replay(auditLog, START, to, (entry, start, end) => {
      rows.push(placeOf(entry, start, end))
      if (rows.length >= SLICE) db.put(rows.splice(0))
    })
    // All of this was durable: there is no such thing as an interrupted write in it.
    if (torn !== undefined) throw new DamagedLogError(auditLog.path, torn.line, torn.fault)
    db.put(rows)
    this.#db.close()
    this.#db = db
    IndexDb.remove(this.#path)
    this.#rebuilding = undefined
  }
}

export function placeOf ({ seq, id, ticket, hash }: AuditEntry, start: number, end: number): EntryPlace {
  return { seq, id, settled: ticket.status !== 'pending', hash, start, end }
}

function fresh (path: string, log: Log): IndexDb {
  try {
    IndexDb.remove(path)
    return IndexDb.open(path)
  } catch (err) {
    log.warn({ file: path, err }, 'No index can be written there. It is held in memory until the next start.')
    return IndexDb.inMemory()
  }
}
