import { accessSync, constants, type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Check } from '../../../schemas/doctor'
import { errorCode, explainDiskError } from '../disk-error'
import { shellLine } from '../shell-line'
import { count, fail, type Look, mebibytes, ok, type Scene, warn } from './scene'

/** A *.tmp that is younger may be in the middle of being written, in milliseconds. */
export const FRESH_MS = 60_000
const SPACE_FAIL = 16 * 1024 * 1024
const SPACE_WARN = 256 * 1024 * 1024

/** File systems by their number (Linux, statfs(2)) on which a lock or a sync may not mean what it says. */
const REMOTE: Record<number, string> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'SMB',
  0xfe534d42: 'SMB',
  0x5346414f: 'AFS',
  0x00c36400: 'Ceph',
  0x0bd00bd0: 'Lustre',
  0x01021997: '9P, a folder of another system'
}
const FLEETING: Record<number, string> = { 0x01021994: 'memory (tmpfs)', 0x858458f6: 'memory (ramfs)', 0x794c7630: 'the layer of a container (overlayfs)' }

export const lookAtFolder: Look = scene => {
  const { config: { stateDir }, uid } = scene
  const stats = statOf(stateDir)
  const id = 'state-folder'
  if (stats === undefined) return [ok(id, `${stateDir} is not there yet; the first start makes it`), ...space(scene, existing(stateDir))]
  if (!stats.isDirectory()) return [fail(id, `${stateDir} is no folder.`, 'Move it away, or set READYROOM_STATE_DIR to another folder')]
  if (uid >= 0 && stats.uid !== uid) {
    return [fail(id, `${stateDir} belongs to another user (${stats.uid}; this one is ${uid}).`, `sudo ${shellLine(['chown', '-R', String(uid), stateDir], 'posix')}`)]
  }
  try {
    accessSync(stateDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (err) {
    const { what } = explainDiskError(err)
    return [fail(id, `${stateDir} cannot be used: ${what}.`, shellLine(['chmod', '700', stateDir], 'posix')!)]
  }
  return [ok(id, stateDir), ...modes(scene), ...space(scene, stateDir), ...kind(scene), ...contents(scene)]
}

/** Names in the folder, relative to it, whose mode lets others in; the folder itself is `.`. */
export function openToOthers ({ config: { stateDir }, place: { platform } }: Pick<Scene, 'config' | 'place'>): string[] {
  if (platform === 'win32') return []
  return ['.', ...entries(stateDir).filter(entry => entry.isFile()).map(({ name }) => name)]
    .filter(name => ((statOf(join(stateDir, name))?.mode ?? 0) & 0o077) !== 0)
}

/** Files that a write has left behind when its process was killed. */
export function leftovers ({ config: { stateDir }, now }: Pick<Scene, 'config' | 'now'>): string[] {
  return entries(stateDir).filter(entry => entry.isFile() && entry.name.endsWith('.tmp')).map(({ name }) => name)
    .filter(name => now() - (statOf(join(stateDir, name))?.mtimeMs ?? Infinity) > FRESH_MS)
}

function modes (scene: Scene): Check[] {
  const open = openToOthers(scene)
  return [open.length === 0
    ? ok('folder-modes', 'only you can read it')
    : warn('folder-modes', `Others can get at ${open.map(name => name === '.' ? 'the folder itself' : name).join(', ')}, where tickets and the secret of the daemon are.`, 'readyroom doctor --fix')]
}

function space ({ statfs, place: { platform } }: Scene, folder: string): Check[] {
  const { bavail, bsize, files, ffree } = statfs(folder)
  const free = bavail * bsize
  if (platform !== 'win32' && files > 0 && ffree === 0) return [fail('folder-space', 'The disk has room, but not for one more file (no free inodes).', 'Remove files there')]
  if (free >= SPACE_WARN) return [ok('folder-space', `${mebibytes(free)} free`)]
  const message = `Only ${mebibytes(free)} are free; without space no ticket is accepted.`
  return [(free < SPACE_FAIL ? fail : warn)('folder-space', message, 'Free some space there, or set READYROOM_STATE_DIR to a folder on another disk')]
}

function kind ({ statfs, place: { platform }, config: { stateDir } }: Scene): Check[] {
  if (platform !== 'linux') return []
  const { type } = statfs(stateDir)
  if (REMOTE[type] !== undefined) {
    return [warn('folder-kind', `The folder is on a network (${REMOTE[type]}), where locks and syncs may not hold what they promise.`, 'Set READYROOM_STATE_DIR to a folder on a local disk')]
  }
  if (FLEETING[type] !== undefined) {
    return [warn('folder-kind', `The folder is in ${FLEETING[type]}: the queue is gone with it.`, 'Set READYROOM_STATE_DIR to a folder on a disk, in a container to a volume')]
  }
  return [ok('folder-kind', 'on a local disk')]
}

function contents (scene: Scene): Check[] {
  const { config: { stateDir } } = scene
  const old = leftovers(scene)
  const aside = entries(stateDir).map(({ name }) => name).filter(name => /\.(?:torn|damaged)-/.test(name))
  return [
    old.length === 0
      ? ok('leftovers', 'no write was left half-way')
      : warn('leftovers', `${count(old.length, 'file')} left by a write that was interrupted: ${old.join(', ')}. Nothing needs them.`, 'readyroom doctor --fix'),
    aside.length === 0
      ? ok('set-aside', 'nothing was set aside')
      : warn('set-aside', `${count(aside.length, 'file')} that could not be used ${aside.length === 1 ? 'was' : 'were'} set aside: ${aside.join(', ')}.`,
        'Look into them; once nothing in them is missed, move them out of the folder')
  ]
}

function entries (dir: string): Dirent[] {
  try { return readdirSync(dir, { withFileTypes: true }) } catch { return [] }
}

function statOf (path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (err) {
    if (errorCode(err) === 'ENOENT' || errorCode(err) === 'ENOTDIR') return undefined
    throw err
  }
}

/** The nearest folder above that is there. */
function existing (path: string): string {
  while (statOf(path) === undefined && dirname(path) !== path) path = dirname(path)
  return path
}
