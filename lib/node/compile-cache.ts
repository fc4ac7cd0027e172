import { lstatSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface CompileCacheOptions {
  /** What stands behind the program's name on the command line. */
  args: readonly string[]
  /** Where temporary files go. Unset means the system's place. */
  tmp?: string | undefined
  /** Unset means ours; -1 where the system has none. */
  uid?: number | undefined
  enable?: ((folder: string) => void) | undefined
}

/**
 * Lets Node keep what V8 compiled for the next start, which then answers an agent sooner. What is kept there is run as
 * code, so that the folder must be ours alone; Node's own default could have been made by anybody. Where there can be no
 * such folder nothing is kept, and nothing else changes.
 *
 * The process that ends first decides how much is kept, so that the short commands keep nothing.
 *
 * @returns the folder, or undefined where nothing is kept.
 */
export function keepCompiled ({ args: [command = 'stdio'], tmp = tmpdir(), uid = process.getuid?.() ?? -1, enable = enableCompileCache }: CompileCacheOptions): string | undefined {
  if (command !== 'stdio' && command !== 'serve') return undefined
  const folder = join(tmp, uid === -1 ? 'readyroom-compiled' : `readyroom-compiled-${uid}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') return undefined
  }
  try {
    if (!isOurs(folder, uid)) return undefined
    enable(folder)
    return folder
  } catch {
    return undefined
  }
}

/** A folder, no link, that nobody else can write to. Where there are no user ids, temporary files are each user's own. */
function isOurs (folder: string, uid: number): boolean {
  const found = lstatSync(folder)
  return found.isDirectory() && (uid === -1 || (found.uid === uid && (found.mode & 0o077) === 0))
}
