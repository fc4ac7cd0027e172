import type { Log } from './log'

const DELAY_MS = 5_000
/** After so many entries it is not put off further. */
const MANY = 1_000

export interface KeeperOptions {
  /** Writes a snapshot of what is durable now, and says how many bytes it took. */
  write: () => Promise<number>
  log: Log
  /** How long after a change a snapshot is written, in milliseconds. */
  delayMs?: number | undefined
}

/**
 * Decides when the snapshot is worth writing anew: some seconds after a change, later where it is large and little has
 * changed, so that a card in a small machine is not worn out by it. It only ever makes a start faster; that it could not
 * be written is a warning.
 */
export class SnapshotKeeper {
  readonly #write: () => Promise<number>
  readonly #log: Log
  readonly #delayMs: number
  #entries = 0
  #bytes = 0
  #size = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #closed = false

  constructor ({ write, log, delayMs = DELAY_MS }: KeeperOptions) {
    this.#write = write
    this.#log = log
    this.#delayMs = delayMs
  }

  /** Says that the log has grown. */
  touch (entries: number, bytes: number): void {
    this.#entries += entries
    this.#bytes += bytes
    if (!this.#closed) this.#timer ??= setTimeout(() => this.#due(), this.#delayMs)
  }

  /** Writes what is still to be written. Resolves when nothing is under way and no timer is left. */
  async close (): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#writing
    if (this.#entries > 0) await this.#save()
  }

  #due (): void {
    this.#timer = undefined
    const worthIt = this.#entries >= MANY || this.#bytes * 4 >= this.#size
    // Otherwise the next change, or the end, comes back to it.
    if (worthIt && this.#writing === undefined) {
      this.#writing = this.#save().finally(() => { this.#writing = undefined })
    }
  }

  async #save (): Promise<void> {
    const [entries, bytes] = [this.#entries, this.#bytes]
    this.#entries = 0
    this.#bytes = 0
    try {
      this.#size = await this.#write()
    } catch (err) {
      const why = err instanceof Error ? err.message : String(err)
      this.#log.warn({ err }, `The snapshot tickets.json could not be written; the next start reads more of the audit log instead. ${why}`)
      // The next change tries again.
      this.#entries += entries
      this.#bytes += bytes
    }
  }
}
