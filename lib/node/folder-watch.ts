export interface Watched {
  /** Whether the folder has been deleted, and not merely moved: what is written into it would be lost. */
  isDeleted (): Promise<boolean>
  /** Called once, when it has. */
  onDeleted (): void
  /** Between two looks, in milliseconds. */
  everyMs: number
}

/**
 * Notices that the state folder of a daemon is no more. Such a daemon can save nothing, holds the port, and cannot prove
 * itself to anybody, since its secret was in the folder.
 */
export class FolderWatch {
  readonly #of: Watched
  readonly #timer: ReturnType<typeof setInterval>
  #looking = false
  #over = false

  constructor (of: Watched) {
    this.#of = of
    this.#timer = setInterval(() => this.#look(), of.everyMs)
  }

  stop (): void {
    this.#over = true
    clearInterval(this.#timer)
  }

  async #look (): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    // What cannot be told now is looked at again.
    const isDeleted = await this.#of.isDeleted().catch(() => false)
    this.#looking = false
    if (!isDeleted || this.#over) return
    this.stop()
    this.#of.onDeleted()
  }
}
