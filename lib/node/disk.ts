import { type FileHandle, open, rename, rm } from 'node:fs/promises'

/**
 * The file operations that the store is made of. Tests and benchmarks put another one in its place: a disk that is full,
 * slow, or stops in the middle of a write.
 */
export interface Disk {
  /** `read` and `update` need the file to be there; `create` needs it not to be, and makes it with mode 0600. */
  open (path: string, how: 'read' | 'update' | 'create'): Promise<DiskFile>
  /** Replaces what is at `to`. Durable only after `syncFolder`. */
  rename (from: string, to: string): Promise<void>
  /** Does nothing where there is no such file. */
  remove (path: string): Promise<void>
  /** Makes the names in a folder durable. */
  syncFolder (dir: string): Promise<void>
}

export interface DiskFile {
  /** In bytes. */
  size (): Promise<number>
  /** The bytes from `position` on, at most `length`: fewer only where the file ends. */
  read (position: number, length: number): Promise<Buffer>
  /** Everything, or it throws. */
  write (data: Buffer, position: number): Promise<void>
  truncate (length: number): Promise<void>
  /** Resolves when the content is on the disk, and the length with it. */
  sync (): Promise<void>
  /** Whether the file still has a name: one that was deleted takes every write and is gone with the process. */
  isNamed (): Promise<boolean>
  close (): Promise<void>
}

const FLAGS = { read: 'r', update: 'r+', create: 'wx+' } as const

export const realDisk: Disk = {
  async open (path, how) {
    const handle = await open(path, FLAGS[how], 0o600)
    // The umask may have taken more than it should.
    if (how === 'create') await handle.chmod(0o600)
    const { nlink } = await handle.stat()
    return new RealFile(handle, nlink > 0)
  },
  rename,
  remove: path => rm(path, { force: true }),
  async syncFolder (dir) {
    // Windows has no such operation, and needs none: its file system journals the names.
    if (process.platform === 'win32') return
    const handle = await open(dir, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

class RealFile implements DiskFile {
  readonly #handle: FileHandle
  // A file system that counts no names says nothing about them.
  readonly #countsNames: boolean

  constructor (handle: FileHandle, countsNames: boolean) {
    this.#handle = handle
    this.#countsNames = countsNames
  }

  async size (): Promise<number> {
    return (await this.#handle.stat()).size
  }

  async read (position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await this.#handle.read(buffer, filled, length - filled, position + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.subarray(0, filled)
  }

  async write (data: Buffer, position: number): Promise<void> {
    let written = 0
    while (written < data.length) {
      written += (await this.#handle.write(data, written, data.length - written, position + written)).bytesWritten
    }
  }

  truncate (length: number): Promise<void> {
    return this.#handle.truncate(length)
  }

  sync (): Promise<void> {
    return this.#handle.datasync()
  }

  async isNamed (): Promise<boolean> {
    return !this.#countsNames || (await this.#handle.stat()).nlink > 0
  }

  close (): Promise<void> {
    return this.#handle.close()
  }
}
