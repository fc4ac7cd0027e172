import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a file for its owner alone, in one step: whoever reads it finds the old text or the new one.
 * @throws where it cannot be written; what was there is then as it was
 */
export function writeWhole (path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    // Nothing that stands there is written into, a link to somewhere else least of all.
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
    renameSync(temporary, path)
  } catch (err) {
    remove(temporary)
    throw err
  }
}

/** How long ago a file was written or touched, in milliseconds; undefined where there is none. Below 0 after a clock was set back. */
export function ageOf (path: string, nowMs: number): number | undefined {
  try { return nowMs - statSync(path).mtimeMs } catch { return undefined }
}

export function remove (path: string): void {
  try { unlinkSync(path) } catch {}
}
