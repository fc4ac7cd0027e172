import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DAEMON_FILE } from '../daemon-file'
import { acquireFolder } from '../folder-lock'
import { explainDiskError } from '../disk-error'
import { hasStaleFile } from './daemon'
import { leftovers, openToOthers } from './folder'
import type { Scene } from './scene'

/**
 * Mends what can do no harm, and says what it did and could not do, a sentence each. Never touches the queue itself, nor
 * anything while a daemon may be at it.
 */
export async function mend (scene: Scene): Promise<string[]> {
  const { stateDir } = scene.config
  const said: string[] = []
  const attempt = (what: string, act: () => void): void => {
    try {
      act()
      said.push(`${what}.`)
    } catch (err) {
      said.push(`Could not mend this: ${what}; ${explainDiskError(err).what}.`)
    }
  }
  for (const name of openToOthers(scene)) {
    const path = join(stateDir, name)
    attempt(`${name === '.' ? stateDir : path} is for you alone now`, () => chmodSync(path, name === '.' ? 0o700 : 0o600))
  }
  for (const name of leftovers(scene)) attempt(`${join(stateDir, name)} is removed`, () => rmSync(join(stateDir, name)))
  if (await hasStaleFile(scene).catch(() => false)) {
    // Under the lock, so that it is not the one that a daemon writes at this moment.
    attempt(`${join(stateDir, DAEMON_FILE)} is removed`, () => {
      const lock = acquireFolder(stateDir)
      try { rmSync(join(stateDir, DAEMON_FILE)) } finally { lock.release() }
    })
  }
  return said
}
