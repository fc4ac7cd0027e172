import { join } from 'node:path'
import type { AuditEntry } from '../../schemas/event'
import { checkLine, EMPTY_HEAD, headAt } from '../audit'
import type { AuditHead } from '../store'
import { LOG_FILE, type LogMark } from './audit-log'
import { type Disk, type DiskFile, realDisk } from './disk'
import { errorCode } from './disk-error'
import { readLines } from './lines'
import { checkAt, nodeHash } from './replay'

/** What checking an audit log from its first byte has shown. */
export interface AuditReport {
  path: string
  /** Nothing below speaks against it. */
  ok: boolean
  /** How many entries hold, counted from the first; the last of them is `head`. */
  entries: number
  head: AuditHead
  /** The first line that does not hold, counted from 1, and why, as the end of a sentence that begins with "it". */
  fault?: { line: number, reason: string }
  /** Bytes behind the last line break: a write under way, or one that was interrupted. Not counted against the log. */
  unfinished?: number
  /** Whether the hash that was noted elsewhere is that of an entry, and of which. Where not, the log was cut or rewritten. */
  noted?: { hash: string, seq: number | undefined }
  /** It was told to stop before the end; what is said holds for what it had read. */
  stopped?: true
}

export interface VerifyOptions {
  /** A hash noted at some earlier time: 64 hex digits. */
  head?: string
  io?: Disk
  /** Stops before the end when it aborts. */
  signal?: AbortSignal
}

export interface ReadOptions {
  /** Leaves out entries up to this seq (a number), or from before this time (ISO 8601). */
  since?: number | string
  io?: Disk
}

/** How often a line that does not hold is read again: the daemon may have cut back a failed write at that moment. */
const LOOKS = 3

/** Checks the whole audit log of a state folder, line by line; it may be one that a daemon writes to. No log is an empty one. */
export async function verifyAudit (dir: string, { head: noted, io = realDisk, signal }: VerifyOptions = {}): Promise<AuditReport> {
  const path = join(dir, LOG_FILE)
  const hash = noted?.toLowerCase()
  let run: Run = { mark: { head: EMPTY_HEAD, end: 0 }, found: undefined, bad: undefined, stopped: false }
  const file = await openLog(io, path)
  if (file !== undefined) {
    try {
      for (let look = 1; look <= LOOKS; look++) {
        run = await checkFrom(file, run, hash, signal)
        if (run.bad?.whole !== true) break
      }
    } finally {
      await file.close()
    }
  }
  const { mark, found, bad, stopped } = run

  return {
    path,
    ok: bad?.whole !== true && (noted === undefined || found !== undefined),
    entries: mark.head.seq,
    head: mark.head,
    ...(bad?.whole === true && { fault: { line: mark.head.seq + 1, reason: bad.reason } }),
    ...(bad?.whole === false && { unfinished: bad.bytes }),
    ...(noted !== undefined && { noted: { hash: noted, seq: found } }),
    ...(stopped && { stopped })
  }
}

/**
 * The entries of the audit log of a state folder, in order, a few in memory at a time. A line that a daemon is writing
 * is left out. Throws, naming the line, where one cannot be read; `verifyAudit` says more about it.
 */
export async function * readAudit (dir: string, { since = 0, io = realDisk }: ReadOptions = {}): AsyncGenerator<AuditEntry, void, undefined> {
  const path = join(dir, LOG_FILE)
  const file = await openLog(io, path)
  if (file === undefined) return
  const wanted = typeof since === 'number'
    ? (entry: AuditEntry) => entry.seq > since
    : (entry: AuditEntry) => Date.parse(entry.at) >= Date.parse(since)
  let number = 0
  try {
    for await (const lines of readLines(file, 0, await file.size())) {
      for (const { text, whole } of lines) {
        if (!whole) return
        number++
        const { entry, fault } = text === undefined ? { fault: 'is longer than any entry' } : checkLine(text, nodeHash)
        if (entry === undefined) throw new Error(`Line ${number} of ${path} cannot be read: it ${fault}. readyroom audit --verify checks the whole file.`)
        if (wanted(entry)) yield entry
      }
    }
  } finally {
    await file.close()
  }
}

interface Run { mark: LogMark, found: number | undefined, bad: { reason: string, whole: boolean, bytes: number } | undefined, stopped: boolean }

/** Goes on behind the mark, up to the first line that does not hold or the end. */
async function checkFrom (file: DiskFile, { mark, found }: Run, hash: string | undefined, signal: AbortSignal | undefined): Promise<Run> {
  for await (const lines of readLines(file, mark.end, await file.size())) {
    if (signal?.aborted) return { mark, found, bad: undefined, stopped: true }
    for (const line of lines) {
      const { entry, fault } = checkAt(line, mark)
      if (entry === undefined) return { mark, found, bad: { reason: fault, whole: line.whole, bytes: line.end - line.start }, stopped: false }
      mark = { head: headAt(entry), end: line.end }
      if (entry.hash === hash) found = entry.seq
    }
  }
  return { mark, found, bad: undefined, stopped: false }
}

async function openLog (disk: Disk, path: string): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, 'read')
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined
    throw err
  }
}
