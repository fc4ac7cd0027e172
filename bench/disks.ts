import { type Disk, realDisk } from '../lib/node/disk'

/** A disk like the real one, but for what `sync` does with the real sync. */
const withSync = (sync: (real: () => Promise<void>) => Promise<void>): Disk => ({
  ...realDisk,
  async open (path, how) {
    const file = await realDisk.open(path, how)
    return {
      size: () => file.size(),
      read: (position, length) => file.read(position, length),
      write: (data, position) => file.write(data, position),
      truncate: length => file.truncate(length),
      sync: () => sync(() => file.sync()),
      isNamed: () => file.isNamed(),
      close: () => file.close()
    }
  }
})

/** The disks that a benchmark can run on, by name. `slow` is this disk with the card of a small board: 10 ms more a sync. */
export const disks: Record<'real' | 'unsynced' | 'slow', Disk> = {
  real: realDisk,
  unsynced: withSync(async () => {}),
  slow: withSync(async real => {
    await new Promise(resolve => setTimeout(resolve, 10))
    await real()
  })
}

export type DiskName = keyof typeof disks
