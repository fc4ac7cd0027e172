import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { AuditLog } from './audit-log'
import type { Disk } from './disk'

const CHUNK = 1024 * 1024

/** Moves a file that cannot be used out of the way, under a name that says why and when. Resolves with that name. */
export async function setAsideFile (disk: Disk, path: string, why: string, nowMs: number): Promise<string> {
  const to = freeName(path, why, nowMs)
  await disk.rename(path, to)
  await disk.syncFolder(dirname(path))
  return to
}

/** Moves the end of the log, from byte `start` on, into a file of its own: it is on the disk before the log is cut. */
export async function setAsideTail (disk: Disk, auditLog: AuditLog, start: number, nowMs: number): Promise<string> {
  const to = freeName(auditLog.path, 'torn', nowMs)
  const file = await disk.open(to, 'create')
  try {
    const end = await auditLog.size()
    for (let position = start; position < end;) {
      const data = await auditLog.read(position, Math.min(CHUNK, end - position))
      await file.write(data, position - start)
      position += data.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.syncFolder(dirname(to))
  await auditLog.cut(start)
  return to
}

// No colons: they cannot stand in a name on Windows.
function freeName (path: string, why: string, nowMs: number): string {
  const name = `${path}.${why}-${new Date(nowMs).toISOString().replaceAll(':', '-')}`
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`
    if (!existsSync(candidate)) return candidate
  }
}
