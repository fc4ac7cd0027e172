import { Herald, type HeraldOptions } from './herald'
import { readEvent, readNews } from './news'
import { poll, pollMs } from './poll'
import { ask, refusal, stream } from './request'
import { frameReader, type Frame } from './sse'
import { pause, withResolvers } from './waiting'

/** How long what may pass by itself is tried at the start, before it counts as wrong. */
const ARM_MS = 60_000
/** An outage that is shorter is nobody's business. */
const NOTICE_MS = 120_000
/** The server says something every 15 s; a line that is silent for longer is dead. */
const SILENCE_MS = 50_000
const ANSWER_MS = 15_000
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 15_000

export interface WatchTimes { armMs?: number, noticeMs?: number, silenceMs?: number, firstRetryMs?: number, lastRetryMs?: number, burstMs?: number }

export interface WatchOptions extends Omit<HeraldOptions, 'now' | 'burstMs'> {
  /** For standard error. */
  note: (message: string) => void
  now?: () => number
  times?: WatchTimes
  signal: AbortSignal
}

/** What asking again does not mend. */
class Fatal extends Error {
  readonly code: number

  constructor (message: string, code = 1) {
    super(message)
    this.code = code
  }
}

/**
 * Holds the stream of a room, or asks again and again where there is none, and prints a line for what an agent that waits
 * should be woken for.
 * Resolves with the exit code, when it was told to end or nothing can come any more.
 */
export class Watcher {
  readonly #options: WatchOptions
  readonly #now: () => number
  readonly #herald: Herald
  #isIntroduced = false
  #isOpen = false
  #isArmed = false
  #lostAt: number | undefined
  #retryMs: number

  /** @throws Error whose message names the setting that cannot be used */
  constructor (options: WatchOptions) {
    const { times = {}, now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#herald = new Herald({ ...options, now, burstMs: times.burstMs })
    this.#retryMs = times.firstRetryMs ?? FIRST_RETRY_MS
  }

  async run (): Promise<number> {
    const { note, signal, times: { armMs = ARM_MS, firstRetryMs = FIRST_RETRY_MS, lastRetryMs = LAST_RETRY_MS } = {} } = this.#options
    if (this.#herald.mode === 'hook-only') {
      note('readyroom watch: the mode is hook-only, so there is nothing to watch for; --set-mode mentions changes that.')
      return 0
    }
    const armBy = this.#now() + armMs
    while (!signal.aborted) {
      try {
        if (!this.#isIntroduced) await this.#introduce()
        await this.#listen()
        this.#debug('the stream has ended')
      } catch (err) {
        if (err instanceof Fatal) {
          note(`readyroom watch: ${err.message}.`)
          await this.#herald.finish()
          return err.code
        }
        this.#debug((err as Error).message)
        if (!this.#isArmed && this.#now() >= armBy) {
          note(`readyroom watch: the server could not be reached for ${Math.round(armMs / 1_000)} s: ${(err as Error).message}. Check READYROOM_URL, then start this again.`)
          return 1
        }
      }
      if (signal.aborted) break
      this.#lostAt ??= this.#now()
      if (this.#isOpen) this.#retryMs = firstRetryMs
      this.#isOpen = false
      await pause(this.#retryMs * (0.8 + 0.4 * Math.random()), signal)
      this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs)
    }
    await this.#herald.finish()
    return 0
  }

  /** Who we are, and in which room: the server knows. */
  async #introduce (): Promise<void> {
    const { settings, signal } = this.#options
    const answer = await ask(settings, { path: 'v1/unread', query: { room: settings.room, limit: 1 }, ms: ANSWER_MS, signal })
    if (answer.status !== 200) throw failure(answer.status)
    const news = readNews(answer.json)
    if (news === undefined) throw new Error('what answers there is no Ready Room')
    this.#herald.room = news.room
    this.#herald.agent = news.agent
    this.#isIntroduced = true
  }

  /** Resolves when the stream has ended. */
  async #listen (): Promise<void> {
    const { settings, signal, times: { silenceMs = SILENCE_MS } = {} } = this.#options
    const { promise: over, resolve: end, reject: fail } = withResolvers<void>()
    // Nobody waits for it yet while the stream is being opened.
    over.catch(() => {})
    let open: { end: () => void } | undefined
    let silence: NodeJS.Timeout | undefined
    const alive = (): void => {
      clearTimeout(silence)
      silence = setTimeout(() => { open?.end(); end() }, silenceMs)
    }
    const read = frameReader(frame => {
      try { this.#take(frame) } catch (err) { fail(err as Error); open?.end() }
    })
    const stop = (): void => { open?.end(); end() }
    signal.addEventListener('abort', stop, { once: true })
    try {
      const answer = await stream(settings, {
        path: 'v1/stream',
        query: { room: settings.room },
        headers: this.#herald.seen === undefined ? {} : { 'last-event-id': String(this.#herald.seen) },
        ms: ANSWER_MS,
        signal
      }, text => {
        alive()
        try { read(text) } catch (err) { fail(err as Error); open?.end() }
      }, end)
      open = answer
      if (answer.status === 501) {
        answer.end()
        return await this.#poll(pollMs(answer.headers['retry-after']))
      }
      if (answer.status !== 200) throw failure(answer.status)
      if (signal.aborted) return
      this.#opened()
      alive()
      answer.read()
      await over
    } finally {
      clearTimeout(silence)
      open?.end()
      signal.removeEventListener('abort', stop)
    }
  }

  /** The same where no stream is held. What the agent has read by itself meanwhile, or its hook has told it, wakes it no more. */
  async #poll (everyMs: number): Promise<void> {
    const { settings, signal } = this.#options
    this.#debug(`no stream there: asking every ${everyMs / 1_000} s`)
    await poll({
      settings,
      everyMs,
      signal,
      since: () => this.#herald.seen,
      refused: failure,
      alive: () => { this.#beat() },
      onNews: ({ events, through }) => {
        if (!this.#isOpen) this.#opened()
        // A log that ends before what is known of it has begun anew.
        const { seen } = this.#herald
        const begins = seen === undefined || through < seen
        for (const event of events) this.#herald.hear(event)
        if (begins) this.#herald.mark(through)
        else this.#herald.pass(through)
      }
    })
  }

  #opened (): void {
    const { noticeMs = NOTICE_MS } = this.#options.times ?? {}
    this.#isOpen = true
    this.#beat()
    const lostMs = this.#lostAt === undefined || !this.#isArmed ? 0 : this.#now() - this.#lostAt
    this.#lostAt = undefined
    this.#isArmed = true
    this.#debug(`connected to ${this.#herald.room} as ${this.#herald.agent}, ${this.#herald.seen === undefined ? 'from now' : `after ${this.#herald.seen}`}`)
    // Silence must not have passed for a quiet room.
    if (lostMs >= noticeMs && this.#herald.mode !== 'hook-only') {
      this.#herald.print(`Ready Room [${this.#herald.room}]: the server was out of reach for ${Math.round(lostMs / 1_000)} s and is back; what happened meanwhile follows.`)
    }
  }

  #take ({ id, event, data }: Frame): void {
    this.#beat()
    const number = id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined
    if (event === 'room_deleted') throw new Fatal(`the room ${this.#herald.room} was deleted`)
    if (data === undefined || event === 'reset') {
      // A bare number says where the log is: that is where we go on from, should the line be lost.
      if (number !== undefined && (this.#herald.seen === undefined || event === 'reset')) this.#herald.mark(number)
      return
    }
    let value: unknown
    try { value = JSON.parse(data) } catch { return }
    const happened = readEvent(value)
    if (happened !== undefined) this.#herald.hear(happened)
  }

  #beat (): void {
    if (this.#options.state.isWatchDisplaced()) throw new Fatal('another watcher of this session was started after this one, and goes on in its place', 0)
    try { this.#options.state.beat(this.#now()) } catch (err) { this.#debug(`no heartbeat: ${(err as Error).message}`) }
  }

  #debug (message: string): void { this.#options.debug?.(`readyroom watch: ${message}`) }
}

function failure (status: number): Error {
  return [400, 401, 403, 404, 421].includes(status) ? new Fatal(refusal(status)) : new Error(refusal(status))
}
