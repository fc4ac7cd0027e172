import { basename, join } from 'node:path'
import { LiveTickets } from '../live-tickets'
import { AuditLog, LOG_FILE } from './audit-log'
import type { Disk } from './disk'
import { FolderError } from './folder-lock'
import { START } from './index-db'
import type { Log } from './log'
import { DamagedLogError, replay } from './replay'
import { setAsideFile, setAsideTail } from './set-aside'
import { DamagedSnapshotError, readSnapshot, type Snapshot, SNAPSHOT_FILE } from './snapshot'
import { placeOf, TicketIndex } from './ticket-index'

export interface State {
  auditLog: AuditLog
  index: TicketIndex
  live: LiveTickets
  /** How much of the log the snapshot did not cover. */
  replayed: { entries: number, bytes: number }
}

export interface OpenOptions { disk: Disk, dir: string, log: Log, now: () => number }

/** Entries between two looks at what is no longer live, while the log is read. */
const PRUNE_EVERY = 4_096

/**
 * Brings back what a folder holds: the snapshot, then every entry of the log that it or the index does not cover. What
 * cannot be used is kept under another name and said; where that could lose a ticket, nothing is opened.
 */
export async function openState (options: OpenOptions): Promise<State> {
  const { disk, dir, log, now } = options
  await disk.remove(join(dir, `${SNAPSHOT_FILE}.tmp`))
  const auditLog = await AuditLog.open(disk, dir, START)
  let index: TicketIndex | undefined
  try {
    const size = await auditLog.size()
    const { snapshot, provenSeq } = await usableSnapshot(options, auditLog, size)
    const opened = await TicketIndex.open(options, auditLog, size)
    index = opened.index

    const [covered, indexed] = [snapshot?.mark ?? START, opened.mark]
    const live = new LiveTickets()
    for (const record of snapshot?.records ?? []) live.set(record)
    // A process that was killed between its write and its sync has left lines that are not on the disk yet. Whoever reads
    // them, the index first of all, takes them for durable.
    if (size > covered.end) await auditLog.sync()
    const { mark, torn } = await replay(auditLog, indexed.end < covered.end ? indexed : covered, size, (entry, start, end) => {
      if (entry.seq > indexed.head.seq) opened.index.addFromLog(placeOf(entry, start, end))
      if (entry.seq <= covered.head.seq) return
      live.set({ seq: entry.seq, at: entry.at, ticket: entry.ticket })
      if (entry.seq % PRUNE_EVERY === 0) live.prune(Date.parse(entry.at))
    })
    auditLog.mark = mark
    if (mark.head.at !== undefined) live.prune(Date.parse(mark.head.at))

    if (torn !== undefined) {
      // What the snapshot or the index covers was durable when they were written.
      if (torn.line <= Math.max(covered.head.seq, indexed.head.seq)) throw new DamagedLogError(auditLog.path, torn.line, torn.fault)
      const kept = await setAsideTail(disk, auditLog, torn.start, now())
      const details = { file: kept, line: torn.line, bytes: torn.end - torn.start }
      if (torn.line <= provenSeq) {
        log.error(details, `${LOG_FILE} is damaged from line ${torn.line} on, which ${torn.fault} and was whole once. What stood there is kept as ${basename(kept)}: ` +
          'tickets that were acknowledged may be in it. To have them back, end Ready Room and put back a copy of the file from a backup.')
      } else {
        log.warn(details, `The last write to ${LOG_FILE} was interrupted: line ${torn.line} ${torn.fault}. What it left is kept as ${basename(kept)}; ` +
          'no ticket that was acknowledged is in it.')
      }
    }
    return { auditLog, index, live, replayed: { entries: mark.head.seq - covered.head.seq, bytes: mark.end - covered.end } }
  } catch (err) {
    await index?.close()
    await auditLog.close()
    throw err
  }
}

interface Found {
  snapshot: Snapshot | undefined
  /** Up to this seq the log was durable once, as a whole snapshot says, be it of use or not. */
  provenSeq: number
}

async function usableSnapshot ({ disk, dir, log, now }: OpenOptions, auditLog: AuditLog, size: number): Promise<Found> {
  const path = join(dir, SNAPSHOT_FILE)
  let fault: string
  let provenSeq = 0
  let isLogShort = false
  try {
    const snapshot = await readSnapshot(disk, dir)
    provenSeq = snapshot?.mark.head.seq ?? 0
    if (snapshot === undefined || (snapshot.mark.end <= size && await auditLog.holds(snapshot.mark))) return { snapshot, provenSeq }
    if (size === 0 && snapshot.records.length > 0) {
      throw new FolderError(dir, `${auditLog.path} is missing or empty, but ${path} names ${snapshot.records.length} tickets that were written in it. ` +
        `Put ${LOG_FILE} back from where it was moved to or from a backup; to begin anew without those tickets, move ${SNAPSHOT_FILE} out of the folder.`)
    }
    isLogShort = snapshot.mark.end > size
    fault = isLogShort
      ? `it covers ${snapshot.mark.head.seq} entries, and the audit log ends before that`
      : 'it does not belong to this audit log'
  } catch (err) {
    if (!(err instanceof DamagedSnapshotError)) throw err
    fault = err.message
  }
  const kept = await setAsideFile(disk, path, 'damaged', now())
  const said = `${SNAPSHOT_FILE} cannot be used: ${fault}. It is kept as ${basename(kept)}; the tickets are read from ${LOG_FILE}.`
  if (isLogShort) log.error({ file: kept }, `${said} Entries that were saved once are missing there: an older copy may have been put in its place. Tickets may be missing.`)
  else log.warn({ file: kept }, said)
  return { snapshot: undefined, provenSeq }
}
