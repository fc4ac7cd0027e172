import { accessSync, chmodSync, constants, existsSync, mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errorCode, explainDiskError } from './disk-error'
import { type Database, openDatabase, sqliteCode } from './sqlite'

/**
 * One process owns a state folder at a time. The lock is an SQLite lock on an empty file, because Node offers no other
 * that the kernel lets go of when the process dies, however it dies. On POSIX closing any descriptor of a file drops the
 * process's locks on it, so nothing may ever open `daemon.lock` but SQLite, which knows that and keeps count.
 */
export const LOCK_FILE = 'daemon.lock'

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_NOTADB = 26

// A database that nothing refers to is collected and closed, and its lock would be gone with it.
const holding = new Set<Database>()

export interface FolderLock {
  /** Absolute path of the folder. */
  readonly dir: string
  /** Idempotent. The file stays: to delete it would let two processes each hold a lock of their own. */
  release (): void
}

/** The state folder cannot be used; the message names it, the reason and the remedy. */
export class FolderError extends Error {
  override readonly name: string = 'FolderError'
  readonly dir: string

  constructor (dir: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.dir = dir
  }
}

/** Another process, or another store in this one, holds the folder. */
export class FolderHeldError extends FolderError {
  override readonly name = 'FolderHeldError'
}

/**
 * Creates the folder if need be (mode 0700) and takes its lock, without waiting for it.
 * @throws FolderHeldError while somebody else holds it
 * @throws FolderError when it cannot be created or written
 */
export function acquireFolder (path: string): FolderLock {
  const dir = resolve(path)
  let db: Database | undefined
  try {
    createFolder(dir)
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
    const file = join(dir, LOCK_FILE)
    db = openDatabase(file)
    // First of all, since what SQLite puts beside the file gets its mode.
    chmodSync(file, 0o600)
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
  } catch (err) {
    db?.close()
    const code = sqliteCode(err)
    if (code === SQLITE_BUSY || code === SQLITE_LOCKED) {
      throw new FolderHeldError(dir, `Another Ready Room is using the state folder ${dir}. Stop it, or set READYROOM_STATE_DIR to another folder.`, err)
    }
    if (code === SQLITE_NOTADB) {
      throw new FolderError(dir, `The lock file ${join(dir, LOCK_FILE)} holds something that Ready Room never wrote: it is always empty. ` +
        'Move it out of the folder while no Ready Room runs there, or set READYROOM_STATE_DIR to another folder.', err)
    }
    const { what, remedy } = explainDiskError(err)
    throw new FolderError(dir, `The state folder ${dir} cannot be used: ${what}. ${remedy}, or set READYROOM_STATE_DIR to a folder that can be written.`, err)
  }

  const held = db
  holding.add(held)
  return {
    dir,
    release () {
      if (holding.delete(held)) held.close()
    }
  }
}

// Only the folder itself is made for its owner alone; those above it may be shared, so they get the ordinary mode.
function createFolder (dir: string): void {
  makeFolder(dirname(dir))
  if (makeFolder(dir, 0o700)) chmodSync(dir, 0o700)
}

// Not mkdir's own `recursive`: on a file system that refuses new folders with ENOENT, such as /proc, it never returns.
// What is there already is left as it is; if it is no folder, the next step finds out.
function makeFolder (dir: string, mode?: number, parents = true): boolean {
  if (existsSync(dir)) return false
  try {
    mkdirSync(dir, mode)
    return true
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false
    if (errorCode(err) !== 'ENOENT' || !parents || dirname(dir) === dir) throw err
  }
  makeFolder(dirname(dir))
  return makeFolder(dir, mode, false)
}
