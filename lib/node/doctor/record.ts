import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Check } from '../../../schemas/doctor'
import { type AuditReport, verifyAudit } from '../audit-verify'
import { LOG_FILE } from '../audit-log'
import { realDisk } from '../disk'
import { MAX_LINE } from '../lines'
import { DamagedSnapshotError, readSnapshot, SNAPSHOT_FILE } from '../snapshot'
import { fail, type Look, mebibytes, ok, warn } from './scene'

/** So much of the log behind its snapshot is read in about a second at the next start. */
const BEHIND_WARN = 64 * 1024 * 1024
/** Clocks that are set by the network agree better than this, in milliseconds. */
const AHEAD_WARN_MS = 2_000
const AHEAD_FAIL_MS = 60_000

export const SET_CLOCK: Partial<Record<NodeJS.Platform, string>> & { other: string } = {
  linux: 'sudo timedatectl set-ntp true',
  darwin: 'sudo sntp -sS time.apple.com',
  win32: 'w32tm /resync',
  other: 'Let the system set its clock by the network'
}

/** The snapshot, the chain of the audit log, and the clock against its last entry. */
export const lookAtRecord: Look = async scene => {
  const { config: { stateDir }, quick, auditTime } = scene
  const path = join(stateDir, LOG_FILE)
  // Before the log, which only grows: what a daemon writes meanwhile cannot make the snapshot look too long.
  const snapshot = await lookAtSnapshot(stateDir)
  if (!existsSync(path)) return [...snapshot, ok('audit', 'no audit log yet; it begins with the first ticket')]
  if (quick) return [...snapshot, ok('audit', 'not looked at (--quick)'), ...await clock(scene)]
  const report = await verifyAudit(stateDir, { signal: auditTime() })
  return [...snapshot, chain(report), ...await clock(scene)]
}

function chain ({ path, ok: holds, entries, fault, stopped }: AuditReport): Check {
  if (!holds && fault !== undefined) {
    return fail('audit', `Line ${fault.line} of ${path} ${fault.reason}: the log was damaged or changed.`,
      'readyroom audit --verify says more; end Ready Room, and put back a copy of the file from a backup')
  }
  if (stopped) return warn('audit', `${entries.toLocaleString('en')} ${entries === 1 ? 'entry holds' : 'entries hold'}; the rest was not looked at, since it takes long.`, 'readyroom audit --verify')
  return ok('audit', `${entries.toLocaleString('en')} ${entries === 1 ? 'entry, which holds' : 'entries, an unbroken chain'}`)
}

async function lookAtSnapshot (stateDir: string): Promise<Check[]> {
  try {
    const snapshot = await readSnapshot(realDisk, stateDir)
    const log = join(stateDir, LOG_FILE)
    const size = existsSync(log) ? statSync(log).size : 0
    if (snapshot === undefined) {
      return [size > BEHIND_WARN
        ? warn('snapshot', `There is no ${SNAPSHOT_FILE}; the next start reads all of the log, ${mebibytes(size)}.`, 'readyroom stop')
        : ok('snapshot', 'none yet; the next start reads the log')]
    }
    const behind = size - snapshot.mark.end
    if (behind < 0) {
      return [fail('snapshot', `${SNAPSHOT_FILE} covers more of the audit log than is there: ${-behind} bytes of ${log} are missing.`,
        'End Ready Room, and put back a copy of the file from a backup')]
    }
    return [behind > BEHIND_WARN
      ? warn('snapshot', `${mebibytes(behind)} of the log came after the snapshot of ${snapshot.mark.head.at}; the next start has to read them.`, 'readyroom stop')
      : ok('snapshot', `of ${snapshot.mark.head.at}, ${behind === 0 ? 'and nothing has come since' : `and ${Math.ceil(behind / 1024)} KiB have come since`}`)]
  } catch (err) {
    if (!(err instanceof DamagedSnapshotError)) throw err
    return [warn('snapshot', `${SNAPSHOT_FILE} cannot be used: ${err.message}. The next start sets it aside and makes it anew from the log; no ticket is lost.`, 'readyroom stop, then start it again')]
  }
}

/** No time in the log is before the one before it, so that a clock that was set back stands still for the queue. */
async function clock ({ config: { stateDir }, now, place: { platform } }: Parameters<Look>[0]): Promise<Check[]> {
  const last = await lastTime(join(stateDir, LOG_FILE))
  if (last === undefined) return []
  const ahead = Date.parse(last) - now()
  if (!(ahead > AHEAD_WARN_MS)) return [ok('clock', 'not behind the last entry of the audit log')]
  return [(ahead > AHEAD_FAIL_MS ? fail : warn)('clock', `The clock is ${Math.round(ahead / 1000).toLocaleString('en')} s behind the last entry of the audit log (${last}). ` +
    'Until it has caught up, tickets bear that time and do not expire.', SET_CLOCK[platform] ?? SET_CLOCK.other)]
}

async function lastTime (path: string): Promise<string | undefined> {
  const file = await realDisk.open(path, 'read')
  try {
    const size = await file.size()
    const from = Math.max(0, size - 2 * MAX_LINE)
    const lines = (await file.read(from, size - from)).toString('utf8').split('\n')
    // Behind the last line break may be what is being written.
    for (const line of lines.slice(0, -1).reverse()) {
      try {
        const { at } = JSON.parse(line) as { at?: unknown }
        if (typeof at === 'string' && !Number.isNaN(Date.parse(at))) return at
      } catch { /* Half a line, or a damaged one, which the chain has told of. */ }
    }
  } finally {
    await file.close()
  }
}
