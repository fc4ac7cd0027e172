import { chmodSync, closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Type, { type Static } from 'typebox'
import Value from 'typebox/value'

export const DAEMON_FILE = 'daemon.json'

/** Raised when daemons and clients of two versions could no longer understand each other. */
export const PROTOCOL = 1

const DaemonFileSchema = Type.Object({
  pid: Type.Integer({ minimum: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  started_at: Type.String(),
  instance: Type.String({ minLength: 1, maxLength: 100 }),
  secret: Type.String({ minLength: 32, maxLength: 200 }),
  protocol: Type.Integer({ minimum: 0 }),
  /** Only where it is a loopback address that nobody would try: where it listens is looked for on the others. */
  bind: Type.Optional(Type.String({ maxLength: 100 }))
})

/** How the daemon of a state folder is found. `pid` is for people to read: nothing trusts or signals it. */
export type DaemonFile = Static<typeof DaemonFileSchema>

/**
 * What daemon.json says, or undefined where it says nothing: missing, empty, garbled, or another user's, who could point
 * us anywhere. It then counts as stale, since only the lock and the port decide who is the daemon.
 */
export function readDaemonFile (dir: string): DaemonFile | undefined {
  const path = join(dir, DAEMON_FILE)
  try {
    const uid = process.getuid?.()
    if (uid !== undefined && statSync(path).uid !== uid) return undefined
    const content: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return Value.Check(DaemonFileSchema, content) ? content : undefined
  } catch { return undefined }
}

/** Replaces daemon.json in one step. The holder of the folder's lock alone may call it. */
export function writeDaemonFile (dir: string, file: DaemonFile): void {
  const path = join(dir, DAEMON_FILE)
  const temporary = `${path}.tmp`
  rmSync(temporary, { force: true })
  const fd = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(fd, `${JSON.stringify(file)}\n`)
  } finally {
    closeSync(fd)
  }
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}

/** The holder of the folder's lock calls it on leaving. What cannot be removed is stale, which does no harm. */
export function removeDaemonFile (dir: string): void {
  try {
    rmSync(join(dir, DAEMON_FILE), { force: true })
  } catch { /* see above */ }
}
