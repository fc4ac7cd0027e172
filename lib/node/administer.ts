import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { AdminInput, AdminName, AdminOutput } from '../../schemas/admin'
import { RoomAdmin } from '../room/admin'
import { findDaemon, type Whereabouts } from './ask-daemon'
import { LinkError } from './exchange'
import { acquireFolder, FolderHeldError, type FolderLock } from './folder-lock'
import type { Link } from './link'
import { RefusedError } from './refused'
import { openRooms, ROOM_DB } from './room/open-rooms'

/** How long one thing may take, in milliseconds: a backup copies the whole database. */
const CALL_MS = 120_000
/** How long a folder may be somebody's who does not answer yet, in milliseconds: a daemon that opens, or another command. */
const HELD_MS = 15_000
/** Between two looks, in milliseconds. */
const LOOK_MS = 50

/** Does one thing. @throws what RoomAdmin throws; RefusedError when the daemon goes meanwhile */
export type RunAdmin = <N extends AdminName>(name: N, input: AdminInput<N>) => Promise<AdminOutput<N>>

/**
 * Leads to identity and rooms: through the daemon where one runs, else in this process, which has the folder to itself
 * meanwhile. Two at once wait for each other.
 * @throws FolderError, RefusedError, and what `use` throws
 */
export async function administer<T> (where: Whereabouts, use: (run: RunAdmin) => Promise<T>): Promise<T> {
  const end = performance.now() + HELD_MS
  for (;;) {
    const found = await findDaemon(where)
    if (found !== undefined) return await throughDaemon(found.link, use)
    const lock = lockOf(where.stateDir, performance.now() < end)
    if (lock !== undefined) return await underLock(lock, use)
    await delay(LOOK_MS)
  }
}

/** Whether there are rooms, without making any. */
export async function hasRooms (where: Whereabouts): Promise<boolean> {
  if (existsSync(join(where.stateDir, ROOM_DB))) return true
  // One that cannot be asked has not been asked for anything either.
  const found = await findDaemon(where).catch(() => undefined)
  found?.link.close()
  return found !== undefined && existsSync(join(found.dir, ROOM_DB))
}

/** Undefined while somebody else has it and there is time left. */
function lockOf (dir: string, mayWait: boolean): FolderLock | undefined {
  try {
    return acquireFolder(dir)
  } catch (err) {
    if (err instanceof FolderHeldError && mayWait) return undefined
    throw err
  }
}

async function throughDaemon<T> (link: Link, use: (run: RunAdmin) => Promise<T>): Promise<T> {
  try {
    return await use(async (name, input) => {
      try {
        return await link.call('POST', '/internal/admin', { name, input }, { timeoutMs: CALL_MS })
      } catch (err) {
        if (!(err instanceof LinkError)) throw err
        throw new RefusedError(`Ready Room went away before it answered (${err.message}). Whether it was done shows \`readyroom admin list\`; then try again.`, { cause: err })
      }
    })
  } finally {
    link.close()
  }
}

async function underLock<T> (lock: FolderLock, use: (run: RunAdmin) => Promise<T>): Promise<T> {
  try {
    const rooms = await openRooms(lock.dir)
    try {
      const admin = new RoomAdmin(rooms)
      return await use((name, input) => admin.run(name, input))
    } finally {
      await rooms.close()
    }
  } finally {
    lock.release()
  }
}
