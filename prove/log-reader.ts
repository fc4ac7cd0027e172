import { createHash } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditEntry } from '../schemas/event'

/** `,"hash":"` and 64 digits and `"}`. */
const SEAL = 75

/**
 * Reads the audit log of a folder by what its documentation says about it, apart from the product's own code: each line
 * holds its own hash and that of the line before it. Every look goes on where the last one ended.
 */
export class LogReader {
  readonly #path: string
  #end = 0
  #last = ''
  #hash = '0'.repeat(64)
  seq = 0

  constructor (stateDir: string) {
    this.#path = join(stateDir, 'audit.jsonl')
  }

  get hash (): string { return this.#hash }

  /** The entries that came since the last look. What was seen before must stand where it stood. */
  read (): { entries: AuditEntry[], broken: string[] } {
    const entries: AuditEntry[] = []
    if (!existsSync(this.#path)) return { entries, broken: this.seq === 0 ? [] : [`audit.jsonl is gone, which had ${this.seq} entries`] }
    const bytes = this.#bytes()
    if (bytes === undefined) return { entries, broken: [`audit.jsonl no longer holds entry ${this.seq}, which was there before`] }
    const text = bytes.toString('utf8')
    const lines = text.split('\n')
    if (lines.pop() !== '') return { entries, broken: [`audit.jsonl ends in the middle of line ${this.seq + lines.length + 1}`] }
    for (const line of lines) {
      const entry = this.#check(line)
      if (typeof entry === 'string') return { entries, broken: [`Line ${this.seq + 1} of audit.jsonl ${entry}`] }
      entries.push(entry)
      this.seq = entry.seq
      this.#hash = entry.hash
      this.#last = line
      this.#end += Buffer.byteLength(line) + 1
    }
    return { entries, broken: [] }
  }

  /** What stands behind the last entry that was seen; undefined where that is no longer in its place. */
  #bytes (): Buffer | undefined {
    const fd = openSync(this.#path, 'r')
    try {
      const { size } = fstatSync(fd)
      const known = Buffer.from(this.#last === '' ? '' : `${this.#last}\n`)
      const from = this.#end - known.length
      const buffer = Buffer.alloc(Math.max(0, size - from))
      for (let filled = 0; filled < buffer.length;) {
        const read = readSync(fd, buffer, filled, buffer.length - filled, from + filled)
        if (read === 0) break
        filled += read
      }
      return buffer.subarray(0, known.length).equals(known) ? buffer.subarray(known.length) : undefined
    } finally {
      closeSync(fd)
    }
  }

  #check (line: string): AuditEntry | string {
    const hash = line.slice(-SEAL).slice(9, 73)
    if (createHash('sha256').update(`${line.slice(0, -SEAL)}}`).digest('hex') !== hash) return 'does not match its own hash'
    const entry = JSON.parse(line) as AuditEntry
    if (entry.seq !== this.seq + 1) return `has seq ${entry.seq}`
    if (entry.prev !== this.#hash) return 'does not name the hash of the line before it'
    if (entry.batch > entry.seq) return `is of batch ${entry.batch}, which begins behind it`
    return entry
  }
}
