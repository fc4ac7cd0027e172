// Disks that are not well, as rules for the fault layer or as a real file system.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Operation, Rule } from './fault-rules'
import type { Faults } from './faults'

const LOG = 'audit.jsonl'
const SNAPSHOT = 'tickets.json.tmp'

const failing = (code: string, operations: readonly Operation[], names: readonly string[] = [LOG, SNAPSHOT]): Rule[] =>
  names.flatMap(name => operations.map(op => ({ op, name, fail: code })))

export interface Ailment {
  name: string
  /** What a refusal has to say. Undefined where nothing is refused: the disk is slow, or what fails is not the log. */
  says?: RegExp
  rules: readonly Rule[]
}

export const AILMENTS: readonly Ailment[] = [
  { name: 'full', says: /the disk is full \(ENOSPC\).*Free some space/, rules: failing('ENOSPC', ['write']) },
  { name: 'read-only', says: /read-only \(EROFS\).*Mount it for writing/, rules: failing('EROFS', ['write', 'truncate', 'rename', 'remove']) },
  { name: 'EIO on write', says: /input\/output error \(EIO\).*Check the disk/, rules: failing('EIO', ['write']) },
  { name: 'EIO on sync', says: /input\/output error \(EIO\).*Check the disk/, rules: failing('EIO', ['sync']) },
  // The first failure can be taken back, then no more: the cut of a failed write fails as well.
  { name: 'EIO on every second sync', says: /EIO.*Check the disk/, rules: [0, 2, 4, 6, 8].map(after => ({ op: 'sync', name: LOG, fail: 'EIO', after, times: 1 })) },
  { name: 'EIO on rename', rules: [...failing('EIO', ['rename']), { op: 'syncFolder', name: 'state', fail: 'EIO' }] },
  { name: 'slow', rules: [LOG, SNAPSHOT].map(name => ({ op: 'sync', name, slowMs: 500 })) }
]

/** A small file system of its own under the state folder, where this process may mount one; it is really full when it is. */
export class SmallDisk {
  readonly #dir: string

  private constructor (dir: string) { this.#dir = dir }

  /** Whether one can be had here: on Linux, as root, with the right to mount. */
  static canBeHad (): boolean {
    const dir = mkdtempSync(join(tmpdir(), 'readyroom-prove-'))
    const disk = SmallDisk.mount(dir)
    disk?.unmount()
    rmdirSync(dir)
    return disk !== undefined
  }

  static mount (dir: string): SmallDisk | undefined {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'tmpfs', dir], { stdio: 'ignore' })
    return status === 0 ? new SmallDisk(dir) : undefined
  }

  /** Takes all the space that is left. */
  fill (): void {
    const path = this.#filler
    for (let size = 64 * 1_024; size >= 1;) {
      try {
        writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
      } catch { size = Math.floor(size / 2) }
    }
  }

  free (): void { rmSync(this.#filler, { force: true }) }

  unmount (): void { spawnSync('umount', [this.#dir], { stdio: 'ignore' }) }

  get #filler (): string { return join(this.#dir, 'filler') }
}

/** How a disk gets ill and well again. */
export interface Cause { begin (): void, end (): void }

export const byRules = (faults: Faults, rules: readonly Rule[]): Cause => ({ begin: () => faults.set(rules), end: () => faults.set([]) })
export const byFilling = (disk: SmallDisk): Cause => ({ begin: () => disk.fill(), end: () => disk.free() })
