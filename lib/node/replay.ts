import { hash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import type { AuditEntry } from '../../schemas/event'
import { checkLine, checkNext, headAt, type TextHash } from '../audit'
import type { AuditLog, LogMark } from './audit-log'
import { FolderError } from './folder-lock'
import type { Line } from './lines'

/** SHA-256 by OpenSSL. */
export const nodeHash: TextHash = text => hash('sha256', text, 'hex')

/** A line that was durable once is damaged: to go on would be to lose what follows it. */
export class DamagedLogError extends FolderError {
  override readonly name = 'DamagedLogError'
  readonly path: string
  /** Counted from 1. */
  readonly line: number

  constructor (path: string, line: number, fault: string) {
    super(dirname(path), `Line ${line} of ${path} is damaged: it ${fault}, and it was whole once. ` +
      `Ready Room does not go on from there, so that nothing is lost. Put back a copy of ${basename(path)} from a backup, ` +
      'or set READYROOM_STATE_DIR to another folder to start afresh.')
    this.path = path
    this.line = line
  }
}

/** What one interrupted write left behind the last whole entry. */
export interface TornTail { line: number, fault: string, start: number, end: number }

export type OnEntry = (entry: AuditEntry, start: number, end: number) => void

/**
 * Reads the entries behind `from`, up to byte `to`, checks the chain from one to the next, and hands each on.
 *
 * Bad lines with no later write behind them are one interrupted write: writes go out one at a time, each synced before
 * the next begins, so an entry of a later write proves that the bad line had been durable.
 * @throws DamagedLogError for a bad line with a whole entry of a later write behind it
 */
export async function replay (log: AuditLog, from: LogMark, to: number, onEntry: OnEntry): Promise<{ mark: LogMark, torn: TornTail | undefined }> {
  let mark = from
  let torn: TornTail | undefined
  for await (const lines of log.lines(from.end, to)) {
    for (const line of lines) {
      if (torn === undefined) {
        const { entry, fault } = checkAt(line, mark)
        if (entry !== undefined) {
          mark = { head: headAt(entry), end: line.end }
          onEntry(entry, line.start, line.end)
          continue
        }
        // Every entry is a line, from the first byte on: a line's number is the seq that belongs there.
        torn = { line: mark.head.seq + 1, fault, start: line.start, end: to }
      }
      // The write that the bad line was of began at its seq or before. An entry of a later one proves that it had been
      // durable; that entry may stand in the bad line's own place.
      const whole = line.text === undefined ? undefined : checkLine(line.text, nodeHash).entry
      if (whole !== undefined && whole.batch > torn.line) throw new DamagedLogError(log.path, torn.line, torn.fault)
    }
  }
  return { mark, torn }
}

/** Whether a line of the file is the entry that follows a mark. */
export function checkAt ({ text, whole }: Line, { head }: LogMark): ReturnType<typeof checkNext> {
  if (text === undefined) return { fault: 'is longer than any entry' }
  if (!whole) return { fault: 'ends in the middle' }
  return checkNext(text, head, nodeHash)
}
