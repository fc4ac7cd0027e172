import type { FastifyReply } from 'fastify'

/** How many entries a replay holds at once. Each may be a few hundred kilobytes long. */
const PAGE = 20

export interface FeedMessage { event: string, data: object }

/** A log whose entries have rising numbers; some may be missing. */
export interface FeedLog<Entry> {
  /** The number of the last entry so far. */
  head (): number
  /** Entries after a number, in order. */
  since (seq: number, limit: number): Promise<readonly Entry[]>
  seqOf (entry: Entry): number
  /** What a reader is told of an entry; undefined where it is none of theirs. */
  messageOf (entry: Entry): FeedMessage | undefined
  /** A reader further behind than this begins anew. Unset, everything is replayed. */
  readonly replayLimit?: number
}

export interface FeedOptions<Entry> {
  reply: FastifyReply
  log: FeedLog<Entry>
  /** How long a full socket may take nothing before its reader is dropped, in milliseconds. */
  stallMs: number
  /** Where a reader begins that sends no cursor of its own. Unset, now. */
  since?: number | undefined
  /** Whether its credential still counts: asked again before each event. */
  isLive: () => boolean
}

/**
 * One reader of the events. What it has not read yet is not held for it: it stays in the log, and the feed goes on
 * from its cursor once the socket takes more. So a slow reader costs one page, and one that takes nothing is dropped.
 */
export class Feed<Entry> {
  readonly #reply: FastifyReply
  readonly #log: FeedLog<Entry>
  readonly #limit: number
  readonly #stallMs: number
  readonly #closed: Promise<void>
  readonly #since: number | undefined
  readonly isLive: () => boolean
  #cursor: number
  #catchingUp = false

  /** The reply has its SSE context. Nothing is written before `start`. */
  constructor ({ reply, log, stallMs, since, isLive }: FeedOptions<Entry>) {
    this.#since = since
    this.isLive = isLive
    this.#reply = reply
    this.#log = log
    this.#limit = log.replayLimit ?? Infinity
    this.#stallMs = stallMs
    this.#cursor = log.head()
    this.#closed = new Promise(resolve => { reply.sse.onClose(resolve) })
  }

  /** Begins at the cursor that the reader sent, or now. Resolves when what it missed is out. */
  async start (): Promise<void> {
    const { sse, raw } = this.#reply
    const head = this.#cursor
    const cursor = this.#cursorAt(head)
    sse.sendHeaders()
    // The first byte is out at once. The bare id is a cursor for a reader that loses us before the first event.
    raw.write(`: open\nid: ${cursor ?? head}\n\n`)
    if (cursor === undefined) this.#write({ id: String(head), event: 'reset', data: {} })
    else this.#cursor = cursor
    await this.#catchUp()
  }

  /** Where the reader is in the log, or undefined where that cannot be: no number, ahead of us, or too far behind. */
  #cursorAt (head: number): number | undefined {
    const given = this.#reply.sse.lastEventId ?? this.#since?.toString()
    if (given === undefined) return head
    const seq = /^\d{1,15}$/.test(given) ? Number(given) : NaN
    return seq <= head && head - seq <= this.#limit ? seq : undefined
  }

  /** Hears of a commit. What comes while the reader is behind is met in the log. */
  hear (entry: Entry): void {
    if (this.#catchingUp) return
    const seq = this.#log.seqOf(entry)
    if (seq === this.#cursor + 1) this.#send(entry)
    if (this.#isFull || seq > this.#cursor) this.#catchUp()
  }

  /** Says something that has no place in the log. A reader that is behind does without: it reads the list, or hears of it again. */
  aside (message: FeedMessage): void {
    if (this.#isOpen && !this.#isFull && this.isLive()) this.#write(message)
  }

  /** Ends the response, with a last word where there is one. What a stalled reader has not taken is given up. */
  end (last?: FeedMessage): void {
    if (this.#isFull) {
      this.#reply.raw.destroy()
      return
    }
    if (last !== undefined && this.#isOpen) this.#write(last)
    this.#reply.sse.close()
  }

  get #isFull (): boolean { return this.#reply.raw.writableNeedDrain }

  get #isOpen (): boolean { return this.#reply.sse.isConnected && !this.#reply.raw.destroyed }

  #send (entry: Entry): void {
    if (!this.isLive()) return this.end()
    const seq = this.#log.seqOf(entry)
    const message = this.#log.messageOf(entry)
    if (message !== undefined) this.#write({ id: String(seq), ...message })
    this.#cursor = seq
  }

  #write (message: FeedMessage & { id?: string }): void {
    // It is written at once; the promise waits for a full socket to drain, which is watched here, with a deadline.
    this.#reply.sse.send(message).catch(err => this.#fail(err))
  }

  /** Goes on from the cursor to the end of the log, as fast as the socket takes it. Never rejects. */
  async #catchUp (): Promise<void> {
    if (this.#catchingUp) return
    this.#catchingUp = true
    try {
      while (this.#isOpen && (this.#isFull || this.#cursor < this.#log.head())) {
        if (this.#isFull && !await this.#drained()) return this.#drop('takes nothing')
        const head = this.#log.head()
        if (head - this.#cursor > this.#limit) return this.#drop('is too far behind')
        const entries = await this.#log.since(this.#cursor, PAGE)
        // Nothing is left of what there was: it has been pruned.
        if (entries.length === 0) this.#cursor = Math.max(this.#cursor, head)
        for (const entry of entries) {
          if (!this.#isOpen || this.#isFull) break
          this.#send(entry)
        }
      }
    } catch (err) {
      this.#fail(err)
    } finally {
      this.#catchingUp = false
    }
  }

  /** Whether the socket has taken what it held, before the deadline. */
  async #drained (): Promise<boolean> {
    const { raw } = this.#reply
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#stallMs)
    raw.once('drain', resolve)
    await Promise.race([promise, this.#closed])
    clearTimeout(timer)
    raw.off('drain', resolve)
    return !this.#isFull
  }

  #drop (reason: string): void {
    if (!this.#isOpen) return
    this.#reply.log.info(`A reader of the events ${reason} and was dropped; it can come back with its cursor`)
    this.#reply.raw.destroy()
  }

  #fail (err: unknown): void {
    if (!this.#isOpen) return
    this.#reply.log.warn({ err }, 'The events could not be read for a reader; it can come back with its cursor')
    this.end()
  }
}

/**
 * A token whose time is over says nothing about it: its readers are ended within `everyMs`, though nothing happens that
 * they could be told of. Returns how to stop looking.
 */
export function endExpired (readers: () => Iterable<Pick<Feed<unknown>, 'isLive' | 'end'>>, everyMs: number): () => void {
  const timer = setInterval(() => {
    for (const reader of readers()) if (!reader.isLive()) reader.end()
  }, everyMs).unref()
  return () => { clearInterval(timer) }
}
