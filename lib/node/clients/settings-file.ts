import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, constants, copyFileSync, existsSync, fchmodSync, fchownSync, fsyncSync, lstatSync, mkdirSync, openSync, readFileSync, readlinkSync, realpathSync, renameSync, rmSync, statSync, type Stats, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { errorCode, explainDiskError } from '../disk-error'
import { RefusedError } from '../refused'
import { SettingsError } from './settings-error'

/** The text of a client's settings file; undefined where there is none. @throws SettingsError @throws RefusedError */
export function readSettings (path: string): string | undefined {
  const bytes = bytesOf(path)
  return bytes === undefined ? undefined : textOf(bytes)
}

export interface Changed {
  /** Where the text really stands, behind every link. */
  file: string
  /** What was there before, where something was. */
  backup: string | undefined
}

export interface ChangeOptions {
  /** For the name of the backup. */
  nowMs: number
  /** A new file is for its owner alone; an old one keeps its mode. */
  secret: boolean
}

/** How often a file that its client writes at this very moment is read anew. */
const TRIES = 3
const BOM = '\ufeff'

/**
 * Changes a file in one step: whoever reads it sees the old text or the new one. Undefined where there is nothing to
 * change. Links are followed, and a file that is changed keeps its mode, its owner and its byte order mark.
 * @throws SettingsError what `edit` throws, or that the file is not text
 * @throws RefusedError where it cannot be read or written; then it is as it was
 */
export function changeSettings (path: string, edit: (text: string) => string, { nowMs, secret }: ChangeOptions): Changed | undefined {
  try {
    const file = target(path)
    for (let attempt = 1; ; attempt++) {
      const before = bytesOf(file)
      const text = before === undefined ? '' : textOf(before)
      const edited = edit(text)
      if (before !== undefined && edited === text) return undefined
      const mark = before?.subarray(0, 3).toString() === BOM ? BOM : ''
      const backup = replaceFile(file, before, mark + edited, { nowMs, secret })
      if (backup !== 'changed') return { file, backup }
      if (attempt === TRIES) throw new RefusedError(`${file} is being written by another program all the time. Close the client that it belongs to, then try again.`)
    }
  } catch (err) {
    if (err instanceof SettingsError || err instanceof RefusedError) throw err
    const { what, remedy } = explainDiskError(err)
    throw new RefusedError(`${path} could not be changed, and is as it was: ${what}. ${remedy}, then try again.`, { cause: err })
  }
}

/** The name of the backup; `changed` where the file is not what it was when it was read. */
function replaceFile (file: string, before: Buffer | undefined, text: string, { nowMs, secret }: ChangeOptions): string | undefined | 'changed' {
  mkdirSync(dirname(file), { recursive: true })
  const stats = before === undefined ? undefined : statSync(file)
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  let backup: string | undefined
  try {
    writeNew(temporary, text, stats, secret)
    const now = bytesOf(file)
    if (before === undefined ? now !== undefined : now?.equals(before) !== true) return 'changed'
    if (stats !== undefined) {
      backup = freeName(`${file}.before-readyroom-${new Date(nowMs).toISOString().replaceAll(':', '-')}`)
      copyFileSync(file, backup, constants.COPYFILE_EXCL)
      chmodSync(backup, stats.mode & 0o777)
    }
    renameSync(temporary, file)
    syncFolder(dirname(file))
    return backup
  } catch (err) {
    // A backup of what was not changed is of no use.
    if (backup !== undefined) rmSync(backup, { force: true })
    throw err
  } finally {
    rmSync(temporary, { force: true })
  }
}

function writeNew (path: string, text: string, like: Stats | undefined, secret: boolean): void {
  const fd = openSync(path, 'wx', like === undefined && !secret ? 0o666 : 0o600)
  try {
    if (like !== undefined) {
      // The administrator may change somebody else's file, which stays theirs.
      if (process.getuid?.() === 0) fchownSync(fd, like.uid, like.gid)
      fchmodSync(fd, like.mode & 0o777)
    }
    writeFileSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** What a link leads to, be it there or not. */
function target (path: string): string {
  let file = resolve(path)
  for (let links = 0; links < 40; links++) {
    if (existsSync(file)) return realpathSync(file)
    if (!isLink(file)) return file
    file = resolve(dirname(file), readlinkSync(file))
  }
  return realpathSync(path)
}

function isLink (path: string): boolean {
  try { return lstatSync(path).isSymbolicLink() } catch { return false }
}

function bytesOf (path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined
    const { what } = explainDiskError(err)
    throw new RefusedError(`${path} cannot be read: ${what}. Let this user read it, then try again.`, { cause: err })
  }
}

function textOf (bytes: Buffer): string {
  try {
    // Without its mark, which is put back on writing.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (err) {
    throw new SettingsError('is not UTF-8 text. Save it as UTF-8, which every client reads')
  }
}

function syncFolder (dir: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(dir, 'r')
  try { fsyncSync(fd) } finally { closeSync(fd) }
}

function freeName (name: string): string {
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`
    if (!existsSync(candidate)) return candidate
  }
}
