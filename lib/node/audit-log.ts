import { dirname, join } from 'node:path'
import type { AuditHead } from '../store'
import type { Disk, DiskFile } from './disk'
import { errorCode } from './disk-error'
import { type Line, MAX_LINE, readLines } from './lines'

export const LOG_FILE = 'audit.jsonl'

/** A place in the audit log between two entries: the entry before it, and the byte behind that. */
export interface LogMark { head: AuditHead, end: number }

/** How many bytes a hash and what closes its line take, the line break included. */
const SEAL_BYTES = 76

/** How long after a failed cut another is tried, in milliseconds. */
const RETRY_MS = 1_000

/**
 * A write failed, and so did taking it back: what it left is in the file, and will be found there if the process ends
 * before a cut succeeds.
 */
export class UnsureWriteError extends Error {
  override readonly name = 'UnsureWriteError'

  constructor (path: string, cause: unknown) {
    super(`What was written to ${path} could not be taken back`, { cause })
  }
}

/**
 * The bytes of `audit.jsonl`. `append` is the commit point of the store: what it has resolved for is on the disk; what
 * it has thrown for is not in the file, or will not be before anything else is written. Nothing behind `mark` is read.
 */
export class AuditLog {
  readonly path: string
  readonly #disk: Disk
  #file: DiskFile
  #mark: LogMark
  // Set while the file may hold bytes that nobody was promised.
  #unsure = false
  #retry: NodeJS.Timeout | undefined
  #recovering: Promise<void> | undefined
  #closed = false

  private constructor (disk: Disk, path: string, file: DiskFile, mark: LogMark) {
    this.#disk = disk
    this.path = path
    this.#file = file
    this.#mark = mark
  }

  /** Opens the log, makes an empty one where there is none. `mark` is set by the replay that follows. */
  static async open (disk: Disk, dir: string, start: LogMark): Promise<AuditLog> {
    const path = join(dir, LOG_FILE)
    let file: DiskFile
    try {
      file = await disk.open(path, 'update')
    } catch (err) {
      if (errorCode(err) !== 'ENOENT') throw err
      file = await disk.open(path, 'create')
    }
    try {
      // One that a start before has made may have been killed before its name was durable.
      if (await file.size() === 0) await syncNames(disk, dir)
    } catch (err) {
      await file.close()
      throw err
    }
    return new AuditLog(disk, path, file, start)
  }

  /** The end of what is durable. */
  get mark (): LogMark {
    return this.#mark
  }

  /** Set in one step with whatever is kept about the entries before it, so that no snapshot falls between the two. */
  set mark (mark: LogMark) {
    this.#mark = mark
  }

  /** All that the file holds, in bytes, durable or not. */
  size (): Promise<number> {
    return this.#file.size()
  }

  lines (from: number, to = this.#mark.end): AsyncGenerator<Line[], void, undefined> {
    return readLines(this.#file, from, to)
  }

  /** The text of the line between two bytes, without its line break; empty where no line can be. */
  async line (start: number, end: number): Promise<string> {
    const length = end - start - 1
    if (start < 0 || length < 0 || length > MAX_LINE || end > this.#mark.end) return ''
    return (await this.read(start, length)).toString('utf8')
  }

  /** The bytes from `position` on, durable or not. */
  read (position: number, length: number): Promise<Buffer> {
    return this.#file.read(position, length)
  }

  /** Whether the entry that a mark names ends where the mark says. */
  async holds ({ head, end }: LogMark): Promise<boolean> {
    return endsIn(this.#file, head, end)
  }

  /** Makes durable what was found in the file. */
  sync (): Promise<void> {
    return this.#file.sync()
  }

  /** Cuts off what stands behind `end`; durable when it resolves. */
  async cut (end: number): Promise<void> {
    await this.#file.truncate(end)
    await this.#file.sync()
  }

  /**
   * Writes whole lines behind the mark and makes them durable; the caller then moves the mark. One call at a time.
   * @throws UnsureWriteError when it failed and could not be taken back; any other error means that it never happened
   */
  async append (data: Buffer): Promise<void> {
    this.#stopRetrying()
    try {
      if (this.#unsure) await this.#recover()
      await this.#write(data)
    } finally {
      if (this.#unsure) this.#retryLater()
    }
  }

  async #write (data: Buffer): Promise<void> {
    try {
      await this.#file.write(data, this.#mark.end)
      // Looked at while the disk is busy anyway.
      const [isNamed] = await Promise.all([this.#file.isNamed(), this.#file.sync()])
      if (!isNamed) throw Object.assign(new Error(`${this.path} was deleted`), { code: 'ENOENT' })
    } catch (err) {
      this.#unsure = true
      try {
        await this.#recover()
      } catch {
        throw new UnsureWriteError(this.path, err)
      }
      throw err
    }
  }

  /**
   * Whether the file under this name is still the one that is written. Where it was moved, deleted or replaced, what is
   * written would be lost with the process, so the next append refuses until it is back.
   */
  async confirm (): Promise<boolean> {
    const { head, end } = this.#mark
    try {
      const file = await this.#disk.open(this.path, 'read')
      try {
        if (await endsIn(file, head, end)) return true
      } finally {
        await file.close()
      }
    } catch (err) {
      if (errorCode(err) !== 'ENOENT') throw err
    }
    this.#unsure = true
    return false
  }

  /** Whether the file that is written has a name still; false once it was deleted, which a move is not. */
  isNamed (): Promise<boolean> {
    return this.#file.isNamed()
  }

  /** Tries once more to take back what is not to be there. */
  async close (): Promise<void> {
    this.#closed = true
    this.#stopRetrying()
    if (this.#unsure) await this.#recover().catch(() => {})
    await this.#file.close()
  }

  // Nobody may ask for long, and until the cut has succeeded a kill would bring back what callers were told is not saved.
  // Never during an append, under which it would cut away what is being written.
  #retryLater (): void {
    if (this.#closed) return
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      this.#recover().catch(() => this.#retryLater())
    }, RETRY_MS).unref()
  }

  #stopRetrying (): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  #recover (): Promise<void> {
    this.#recovering ??= this.#cutBack().finally(() => { this.#recovering = undefined })
    return this.#recovering
  }

  // After a failed sync the kernel may have dropped the pages and forgotten the error: only a cut to what was synced
  // before, through a descriptor that has not failed, makes the file known again.
  async #cutBack (): Promise<void> {
    const { head, end } = this.#mark
    const file = await this.#disk.open(this.path, 'update')
    try {
      if (!await endsIn(file, head, end)) throw new Error(`${this.path} no longer holds what was saved in it`)
      await file.truncate(end)
      await file.sync()
    } catch (err) {
      await file.close()
      throw err
    }
    const failed = this.#file
    this.#file = file
    this.#unsure = false
    await failed.close().catch(() => {})
  }
}

// An entry is no more durable than the name of its file, nor that than the names of the folders above, which may be as
// new. Those above are often another user's, or of a disk that cannot be written: what refuses there is let be.
async function syncNames (disk: Disk, dir: string): Promise<void> {
  await disk.syncFolder(dir)
  for (let below = dir, above = dirname(dir); above !== below; [below, above] = [above, dirname(above)]) {
    await disk.syncFolder(above).catch(() => {})
  }
}

async function endsIn (file: DiskFile, head: AuditHead, end: number): Promise<boolean> {
  if (head.seq === 0) return end === 0
  if (end < SEAL_BYTES || await file.size() < end) return false
  return (await file.read(end - SEAL_BYTES, SEAL_BYTES)).equals(Buffer.from(`,"hash":"${head.hash}"}\n`))
}
