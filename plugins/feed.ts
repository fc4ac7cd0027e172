import type { FastifyReply } from 'fastify'
import type { Desk } from '../lib/desk'
import type { AuditEntry } from '../schemas/event'
import type { Ticket } from '../schemas/ticket'

/** A reader further behind than this reads the list anew: that is less than the replay. */
export const REPLAY_LIMIT = 1_000

/** How many entries a replay holds at once. Each may be a few hundred kilobytes long. */
const PAGE = 20

export interface FeedOptions {
  reply: FastifyReply
  desk: Desk
  /** How long a full socket may take nothing before its reader is dropped, in milliseconds. */
  stallMs: number
  /** Whether this reader may see a ticket. */
  visible: (ticket: Ticket) => boolean
  /** Whether its credential still counts: asked again before each event. */
  isLive: () => boolean
}

/** Where a reader is in the audit log, or undefined where that cannot be: no number, ahead of us, or too far behind. */
function cursorOf (lastEventId: string, head: number): number | undefined {
  const seq = /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : NaN
  return seq <= head && head - seq <= REPLAY_LIMIT ? seq : undefined
}

/**
 * One reader of the events. What it has not read yet is not held for it: it stays in the audit log, and the feed goes on
 * from its cursor once the socket takes more. So a slow reader costs one page, and one that takes nothing is dropped.
 */
export class Feed {
  readonly #reply: FastifyReply
  readonly #desk: Desk
  readonly #stallMs: number
  readonly #closed: Promise<void>
  readonly #visible: FeedOptions['visible']
  readonly isLive: FeedOptions['isLive']
  #cursor: number
  #catchingUp = false

  /** The reply has its SSE context. Nothing is written before `start`. */
  constructor ({ reply, desk, stallMs, visible, isLive }: FeedOptions) {
    this.#visible = visible
    this.isLive = isLive
    this.#reply = reply
    this.#desk = desk
    this.#stallMs = stallMs
    this.#cursor = desk.head().seq
    this.#closed = new Promise(resolve => { reply.sse.onClose(resolve) })
  }

  /** Begins at the cursor that the reader sent, or now. Resolves when what it missed is out. */
  async start (): Promise<void> {
    const { sse, raw } = this.#reply
    const { lastEventId } = sse
    const head = this.#cursor
    const cursor = lastEventId === null ? head : cursorOf(lastEventId, head)
    sse.sendHeaders()
    // The first byte is out at once. The bare id is a cursor for a reader that loses us before the first event.
    raw.write(`: open\nid: ${cursor ?? head}\n\n`)
    if (cursor === undefined) this.#write({ id: String(head), event: 'reset', data: {} })
    else this.#cursor = cursor
    await this.#catchUp()
  }

  /** Hears of a commit. What comes while the reader is behind is met in the log. */
  hear (entry: AuditEntry): void {
    if (this.#catchingUp) return
    if (entry.seq === this.#cursor + 1) this.#send(entry)
    if (this.#isFull || entry.seq > this.#cursor) this.#catchUp()
  }

  /** Ends the response. What a stalled reader has not taken is given up. */
  end (): void {
    if (this.#isFull) this.#reply.raw.destroy()
    else this.#reply.sse.close()
  }

  get #isFull (): boolean { return this.#reply.raw.writableNeedDrain }

  get #isOpen (): boolean { return this.#reply.sse.isConnected && !this.#reply.raw.destroyed }

  #send (entry: AuditEntry): void {
    if (!this.isLive()) return this.end()
    if (this.#visible(entry.ticket)) this.#write({ id: String(entry.seq), event: 'ticket', data: entry.ticket })
    this.#cursor = entry.seq
  }

  #write (message: { id: string, event: string, data: object }): void {
    // It is written at once; the promise waits for a full socket to drain, which is watched here, with a deadline.
    this.#reply.sse.send(message).catch(err => this.#fail(err))
  }

  /** Goes on from the cursor to the end of the log, as fast as the socket takes it. Never rejects. */
  async #catchUp (): Promise<void> {
    if (this.#catchingUp) return
    this.#catchingUp = true
    try {
      while (this.#isOpen && (this.#isFull || this.#cursor < this.#desk.head().seq)) {
        if (this.#isFull && !await this.#drained()) return this.#drop('takes nothing')
        if (this.#desk.head().seq - this.#cursor > REPLAY_LIMIT) return this.#drop('is too far behind')
        for (const entry of await this.#desk.since(this.#cursor, PAGE)) {
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
