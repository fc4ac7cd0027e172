import { Coalescer } from './coalescer'
import { isTraffic, LINE_CHARS, lineFor, mentions, type Heard } from './lines'
import { readEvent, readNews, type NewsEvent } from './news'
import { poll, pollMs } from './poll'
import { ask, refusal, stream } from './request'
import type { Env, Settings } from './settings'
import { frameReader, type Frame } from './sse'
import { isMode, type Mode, type State } from './state'
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
const COALESCE_S = 60
/** How long the last line may take to be read, when it ends. */
const LAST_WORDS_MS = 1_000

export interface WatchTimes { armMs?: number, noticeMs?: number, silenceMs?: number, firstRetryMs?: number, lastRetryMs?: number, burstMs?: number }

export interface WatchOptions {
  settings: Settings
  state: State
  env: Env
  /** From the command line; what was set while it runs goes before it. */
  mode?: Mode | undefined
  /** Prints one line, which is a turn that somebody pays for. Resolves when it is taken. @throws where nobody reads */
  print: (line: string) => Promise<void> | void
  /** For standard error. */
  note: (message: string) => void
  debug?: (message: string) => void
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
  readonly #held: Coalescer<Heard>
  /** Lines that are on their way, or that nobody took: what they told of must come again. */
  #unsaid = 0
  #saying = Promise.resolve()
  readonly #aliases: string[]
  readonly #isUrgent: boolean
  readonly #default: Mode
  #room = ''
  #agent = ''
  #seen: number | undefined
  #isOpen = false
  #isArmed = false
  #lostAt: number | undefined
  #retryMs: number

  /** @throws Error whose message names the setting that cannot be used */
  constructor (options: WatchOptions) {
    const { env, mode, times = {}, now = Date.now, state } = options
    this.#options = options
    this.#now = now
    this.#default = mode ?? readMode(env['READYROOM_WATCH_MODE'])
    this.#isUrgent = env['READYROOM_WATCH_MENTION_PRIORITY'] !== 'off'
    this.#aliases = (env['READYROOM_WATCH_MENTIONS'] ?? '').split(',').map(alias => alias.trim().replace(/^@/, '')).filter(alias => alias !== '')
    this.#held = new Coalescer({
      intervalMs: readSeconds(env['READYROOM_WATCH_MIN_INTERVAL']) * 1_000,
      ...(times.burstMs !== undefined && { burstMs: times.burstMs }),
      flush: heard => { this.#say(heard) }
    })
    this.#seen = state.openWatch(now())
    this.#retryMs = times.firstRetryMs ?? FIRST_RETRY_MS
  }

  /** What was set while it runs goes before what it was started with. */
  get mode (): Mode { return this.#options.state.mode() ?? this.#default }

  async run (): Promise<number> {
    const { note, signal, times: { armMs = ARM_MS, firstRetryMs = FIRST_RETRY_MS, lastRetryMs = LAST_RETRY_MS } = {} } = this.#options
    if (this.mode === 'hook-only') {
      note('readyroom watch: the mode is hook-only, so there is nothing to watch for; --set-mode mentions changes that.')
      return 0
    }
    const armBy = this.#now() + armMs
    while (!signal.aborted) {
      try {
        if (this.#agent === '') await this.#introduce()
        await this.#listen()
        this.#debug('the stream has ended')
      } catch (err) {
        if (err instanceof Fatal) {
          note(`readyroom watch: ${err.message}.`)
          await this.#finish()
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
    await this.#finish()
    return 0
  }

  /** Says what is held, and waits a moment until it is taken. */
  async #finish (): Promise<void> {
    this.#held.flush()
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.#saying, new Promise(resolve => { timer = setTimeout(resolve, LAST_WORDS_MS) })])
    clearTimeout(timer)
  }

  /** Who we are, and in which room: the server knows. */
  async #introduce (): Promise<void> {
    const { settings, signal } = this.#options
    const answer = await ask(settings, { path: 'v1/unread', query: { room: settings.room, limit: 1 }, ms: ANSWER_MS, signal })
    if (answer.status !== 200) throw failure(answer.status)
    const news = readNews(answer.json)
    if (news === undefined) throw new Error('what answers there is no Ready Room')
    this.#room = news.room
    this.#agent = news.agent
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
        headers: this.#seen === undefined ? {} : { 'last-event-id': String(this.#seen) },
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
      since: () => this.#seen,
      refused: failure,
      alive: () => { this.#beat() },
      onNews: ({ events, through }) => {
        if (!this.#isOpen) this.#opened()
        // A log that ends before what is known of it has begun anew.
        const begins = this.#seen === undefined || through < this.#seen
        for (const event of events) this.#hear(event)
        if (!begins && through === this.#seen) return
        if (begins || this.#held.oldest === undefined) this.#mark(through)
        else this.#seen = through
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
    this.#debug(`connected to ${this.#room} as ${this.#agent}, ${this.#seen === undefined ? 'from now' : `after ${this.#seen}`}`)
    // Silence must not have passed for a quiet room.
    if (lostMs >= noticeMs && this.mode !== 'hook-only') {
      this.#print(`Ready Room [${this.#room}]: the server was out of reach for ${Math.round(lostMs / 1_000)} s and is back; what happened meanwhile follows.`)
    }
  }

  #take ({ id, event, data }: Frame): void {
    this.#beat()
    const number = id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined
    if (event === 'room_deleted') throw new Fatal(`the room ${this.#room} was deleted`)
    if (data === undefined || event === 'reset') {
      // A bare number says where the log is: that is where we go on from, should the line be lost.
      if (number !== undefined && (this.#seen === undefined || event === 'reset')) this.#mark(number)
      return
    }
    let value: unknown
    try { value = JSON.parse(data) } catch { return }
    const happened = readEvent(value)
    if (happened !== undefined) this.#hear(happened)
  }

  #hear (event: NewsEvent): void {
    if (this.#seen !== undefined && event.id <= this.#seen) return
    const oldest = this.#held.oldest
    // A line has room for a beginning, and what waits for its turn waits in memory.
    const body = event.body?.slice(0, 2 * LINE_CHARS)
    const heard = { event: { ...event, ...(body !== undefined && { body }) }, isForUs: this.#isForUs(event) }
    if (this.#counts(heard)) {
      this.#seen = event.id
      this.#held.hear(heard, heard.isForUs && this.#isUrgent)
    } else if (oldest === undefined) {
      this.#mark(event.id)
    } else {
      this.#seen = event.id
    }
  }

  #isForUs ({ actor, actor_kind: kind, concerns = [], body }: NewsEvent): boolean {
    if (actor === this.#agent && kind !== 'system') return false
    return concerns.includes(this.#agent) || (body !== undefined && mentions(body, this.#aliases))
  }

  /** Whether it is worth a turn in the mode that is set now. Never what we did ourselves. */
  #counts ({ event, isForUs }: Heard): boolean {
    if (event.actor === this.#agent) return false
    const { mode } = this
    return mode !== 'hook-only' && (isForUs || (mode === 'all' && isTraffic(event)))
  }

  /** The mode may be another one by now. */
  #say (heard: Heard[]): void {
    // Whoever has the place says it.
    if (this.#options.state.isWatchDisplaced()) return
    const wanted = heard.filter(one => this.#counts(one))
    if (wanted.length > 0) this.#print(lineFor(this.#room, wanted))
    if (this.#seen !== undefined) this.#mark(this.#seen)
  }

  #print (line: string): void {
    const { print, settings } = this.#options
    this.#unsaid++
    this.#saying = Promise.resolve(print(line)).then(() => {
      this.#unsaid--
      this.#keep()
    }, err => { this.#debug(`nobody took a line: ${(err as Error).message}`) })
    // What it costs is counted where it is kept; a server that does not count is as good.
    ask(settings, { method: 'POST', path: 'v1/attention', body: { kind: 'wake', n: 1, room: this.#room }, ms: ANSWER_MS }).catch(() => {})
  }

  #mark (id: number): void {
    this.#seen = id
    this.#keep()
  }

  /** All up to there was said and taken, or is none of ours. What is not comes again after a restart. */
  #keep (): void {
    if (this.#unsaid > 0 || this.#held.oldest !== undefined || this.#seen === undefined) return
    try {
      this.#options.state.saveWatchMark(this.#seen)
    } catch (err) {
      this.#debug(`marks cannot be kept: ${(err as Error).message}`)
    }
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

function readMode (text: string | undefined): Mode {
  const mode = text?.trim() || 'mentions'
  if (!isMode(mode)) throw new Error(`READYROOM_WATCH_MODE is ${JSON.stringify(mode.slice(0, 50))}: it must be hook-only, mentions or all`)
  return mode
}

function readSeconds (text: string | undefined): number {
  const word = text?.trim() ?? ''
  if (word === '') return COALESCE_S
  if (!/^\d{1,5}(?:\.\d{1,3})?$/.test(word)) throw new Error(`READYROOM_WATCH_MIN_INTERVAL is ${JSON.stringify(word.slice(0, 50))}: it must be a number of seconds, 0 for a line each`)
  return Number(word)
}
