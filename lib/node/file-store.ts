import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { AuditEntry } from '../../schemas/event'
import type { Ticket } from '../../schemas/ticket'
import { seal } from '../audit'
import { ReadyroomError } from '../errors'
import { copyEntry, copyTicket, type ListFilter } from '../live-tickets'
import type { AuditHead, Decision, TicketStore } from '../store'
import { staleWrite, storeClosed } from '../store-errors'
import { UnsureWriteError } from './audit-log'
import { CommitQueue } from './commit-queue'
import { type Disk, realDisk } from './disk'
import { explainDiskError } from './disk-error'
import { EntryReader } from './entry-reader'
import { acquireFolder, FolderError, type FolderLock } from './folder-lock'
import { type Log, silentLog } from './log'
import { openState, type State } from './open-state'
import { nodeHash } from './replay'
import { writeSnapshot } from './snapshot'
import { SnapshotKeeper } from './snapshot-keeper'
import { placeOf } from './ticket-index'

export interface FileStoreOptions {
  /** The state folder. */
  dir: string
  /** Written into every entry; left out, a new name is made. */
  instance?: string
  /** @internal The folder's lock, where the caller holds it already; the store lets go of it at the end of `close`. */
  lock?: FolderLock
  log?: Log
  /** Wall clock, in milliseconds: decides what settled within the last day, and names what is set aside. */
  now?: () => number
  /** @internal The file operations; another one stands in for a disk that fails. */
  io?: Disk
  /** How long after a change a snapshot is written, in milliseconds; 5,000 if left out. */
  snapshotMs?: number
}

/**
 * Tickets in a folder. The line in `audit.jsonl` is the commit: written and synced before anything in memory changes.
 * `tickets.json` and `index.db` only make a start and a look-up cheap; the log gives both again. One process at a time,
 * held to it by the folder's lock.
 */
export class FileTicketStore implements TicketStore {
  readonly #dir: string
  readonly #instance: string
  readonly #log: Log
  readonly #now: () => number
  readonly #disk: Disk
  readonly #queue = new CommitQueue<Decision, AuditEntry>(decisions => this.#write(decisions))
  readonly #keeper: SnapshotKeeper
  /** The commit of each ticket that has not ended yet. */
  readonly #underWay = new Map<string, Promise<void>>()
  #lock: FolderLock | undefined
  #state: State | undefined
  #reader: EntryReader | undefined
  #loading: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor (options: FileStoreOptions) {
    const { dir, instance = randomUUID(), lock, log = silentLog, now = Date.now, io = realDisk, snapshotMs } = options
    this.#dir = resolve(dir)
    this.#instance = instance
    this.#lock = lock
    this.#log = log
    this.#now = now
    this.#disk = io
    this.#keeper = new SnapshotKeeper({ write: () => this.#snapshot(), log, delayMs: snapshotMs })
  }

  /**
   * @throws FolderHeldError while another process uses the folder
   * @throws DamagedLogError when a line that was durable is damaged
   * @throws FolderError when the folder cannot be read or written
   */
  load (): Promise<void> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  async list (filter: ListFilter): Promise<Ticket[]> {
    return this.#opened.live.list(filter, this.#today())
  }

  async get (id: string): Promise<Ticket | undefined> {
    const record = this.#opened.live.get(id)
    return record === undefined ? (await this.#reader!.latest(id))?.ticket : copyTicket(record.ticket)
  }

  async commit (decision: Decision): Promise<AuditEntry> {
    if (this.#closing !== undefined) throw storeClosed()
    const { live } = this.#opened
    const ticket = copyTicket(decision.ticket)
    const event = { ...decision.event }
    const { id } = ticket
    for (let other; (other = this.#underWay.get(id)) !== undefined;) await other
    const { promise, resolve: ended } = Promise.withResolvers<void>()
    this.#underWay.set(id, promise)
    try {
      const stored = live.get(id)?.ticket.rev ?? (await this.#reader!.latest(id))?.ticket.rev ?? 0
      if (stored !== ticket.rev - 1) throw staleWrite(ticket, stored)
      return copyEntry(await this.#queue.push({ ticket, event }))
    } finally {
      this.#underWay.delete(id)
      ended()
    }
  }

  since (seq: number, limit: number): Promise<AuditEntry[]> {
    return this.#reader!.since(seq, limit)
  }

  head (): AuditHead {
    return { ...this.#opened.auditLog.mark.head }
  }

  async history (before: number | undefined, limit: number): Promise<Array<{ seq: number, ticket: Ticket }>> {
    const { live } = this.#opened
    return this.#reader!.settled(before ?? Number.MAX_SAFE_INTEGER, limit, (id, seq) => {
      const record = live.get(id)
      return record?.seq === seq ? copyTicket(record.ticket) : undefined
    })
  }

  /** Whether the audit log was deleted while it was written: nothing can be saved any more. */
  async isDeleted (): Promise<boolean> {
    return !await this.#opened.auditLog.isNamed()
  }

  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  get #opened (): State {
    if (this.#state === undefined) throw new Error('The store has not been loaded')
    return this.#state
  }

  // A clock that has jumped back must not bring back what was settled long ago.
  #today (): number {
    return Math.max(this.#now(), Date.parse(this.head().at ?? '') || 0)
  }

  async #load (): Promise<void> {
    const held = this.#lock
    this.#lock ??= acquireFolder(this.#dir)
    try {
      this.#state = await openState({ disk: this.#disk, dir: this.#dir, log: this.#log, now: this.#now })
      this.#reader = new EntryReader(this.#state.auditLog, this.#state.index)
      // What this start had to read again, the next one need not.
      const { entries, bytes } = this.#state.replayed
      if (entries > 0) this.#keeper.touch(entries, bytes)
    } catch (err) {
      if (held === undefined) {
        this.#lock.release()
        this.#lock = undefined
      }
      if (err instanceof FolderError) throw err
      const { what, remedy } = explainDiskError(err)
      throw new FolderError(this.#dir, `The tickets in ${this.#dir} cannot be read: ${what}. ${remedy}, or set READYROOM_STATE_DIR to another folder.`, err)
    }
  }

  /** One write and one sync for all of these. Sealed only here, so that a write that failed leaves no gap. */
  async #write (decisions: Decision[]): Promise<AuditEntry[]> {
    const { auditLog, index, live } = this.#opened
    const { mark } = auditLog
    let { head } = mark
    const batch = head.seq + 1
    const lines: string[] = []
    const entries = decisions.map(decision => {
      const { entry, line } = seal(decision, { head, batch, instance: this.#instance }, nodeHash)
      head = { seq: entry.seq, hash: entry.hash, at: entry.at }
      lines.push(line)
      return entry
    })
    const data = Buffer.from(`${lines.join('\n')}\n`)
    try {
      await auditLog.append(data)
    } catch (err) {
      throw this.#unavailable(err)
    }
    let { end } = mark
    for (const [i, entry] of entries.entries()) {
      const start = end
      end += Buffer.byteLength(lines[i]!) + 1
      live.set({ seq: entry.seq, at: entry.at, ticket: entry.ticket })
      index.add(placeOf(entry, start, end))
    }
    auditLog.mark = { head, end }
    this.#keeper.touch(entries.length, data.length)
    return entries
  }

  #unavailable (err: unknown): ReadyroomError {
    const isUnsure = err instanceof UnsureWriteError
    const cause = isUnsure ? err.cause : err
    const { what, remedy } = explainDiskError(cause)
    this.#log.error({ err, dir: this.#dir }, `A write to the audit log failed: ${what}.${isUnsure ? ' What it left could not be taken back yet.' : ''}`)
    const outcome = isUnsure
      ? 'Every ticket is as it was, but what was written could not be taken back: should Ready Room end before the disk is well, it may be there at the next start. ' +
        `${remedy}, and look whether it is there before you try again`
      : `Nothing was saved, and every ticket is as it was. ${remedy}, then try again`
    return new ReadyroomError('STORE_UNAVAILABLE', `This could not be saved in ${this.#dir}: ${what}. ${outcome}; Ready Room needs no restart.`, { cause })
  }

  async #snapshot (): Promise<number> {
    const { live, auditLog } = this.#opened
    if (!await auditLog.confirm()) {
      throw new Error(`${auditLog.path} was moved, deleted or replaced while Ready Room was writing it. Put it back: until then nothing more is accepted.`)
    }
    if (auditLog.mark.head.at !== undefined) live.prune(Date.parse(auditLog.mark.head.at))
    return writeSnapshot(this.#disk, this.#dir, { mark: auditLog.mark, records: live.records() })
  }

  async #close (): Promise<void> {
    await this.#loading?.catch(() => {})
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay.values())
    try {
      if (this.#state === undefined) return
      await this.#keeper.close()
      await this.#state.index.close()
      await this.#state.auditLog.close()
    } finally {
      this.#lock?.release()
    }
  }
}
