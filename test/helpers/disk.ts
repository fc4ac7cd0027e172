import { basename } from 'node:path'
import { type Disk, type DiskFile, realDisk } from '../../lib/node/disk'

/** One file operation on its way to the disk. `data` is there for a write. */
export interface DiskCall {
  op: 'open' | 'read' | 'write' | 'truncate' | 'sync' | 'rename' | 'remove' | 'syncFolder'
  /** The name of the file or folder, without the path. */
  name: string
  data?: Buffer
}

/** Lets a call through with `go`, changes what a write writes with `go(data)`, delays it, or throws instead. */
export type Around = (call: DiskCall, go: (data?: Buffer) => Promise<unknown>) => Promise<unknown>

/** The real disk with somebody in between who may fail, delay or tear each operation. `calls` names those that came. */
export function faultyDisk (initial: Around = (call, go) => go()) {
  const state = {
    around: initial,
    calls: [] as string[],
    /** How many calls of one operation on one file there were. */
    count: (op: DiskCall['op'], name: string): number => state.calls.filter(call => call === `${op} ${name}`).length
  }
  const pass = async <T>(call: DiskCall, run: (data?: Buffer) => Promise<T>): Promise<T> => {
    state.calls.push(`${call.op} ${call.name}`)
    return await state.around(call, run) as T
  }
  const wrap = (file: DiskFile, name: string): DiskFile => ({
    size: () => file.size(),
    read: (position, length) => pass({ op: 'read', name }, () => file.read(position, length)),
    write: (data, position) => pass({ op: 'write', name, data }, (other = data) => file.write(other, position)),
    truncate: length => pass({ op: 'truncate', name }, () => file.truncate(length)),
    sync: () => pass({ op: 'sync', name }, () => file.sync()),
    isNamed: () => file.isNamed(),
    close: () => file.close()
  })
  const io: Disk = {
    open: (path, how) => pass({ op: 'open', name: basename(path) }, async () => wrap(await realDisk.open(path, how), basename(path))),
    rename: (from, to) => pass({ op: 'rename', name: basename(from) }, () => realDisk.rename(from, to)),
    remove: path => pass({ op: 'remove', name: basename(path) }, () => realDisk.remove(path)),
    syncFolder: dir => pass({ op: 'syncFolder', name: basename(dir) }, () => realDisk.syncFolder(dir))
  }
  return Object.assign(state, { io })
}

/** The error of a system call, as Node throws it. */
export const systemError = (code: string): Error => Object.assign(new Error(`${code}: made by the test`), { code })

/** Half of what was to be written reaches the file, then the disk is full. */
export const fullInTheMiddle: Around = async ({ data }, go) => {
  await go(data!.subarray(0, data!.length >> 1))
  throw systemError('ENOSPC')
}
