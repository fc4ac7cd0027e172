import { Coalescer } from './coalescer'
import { isTraffic, LINE_CHARS, lineFor, mentions, type Heard } from './lines'
import type { NewsEvent } from './news'
import { ask } from './request'
import type { Env, Settings } from './settings'
import { isMode, type Mode, type State } from './state'

const COALESCE_S = 60
const ANSWER_MS = 15_000
/** How long the last line may take to be read, when it ends. */
const LAST_WORDS_MS = 1_000

export interface HeraldOptions {
  settings: Settings
  state: State
  env: Env
  /** From the command line; what was set while it runs goes before it. */
  mode?: Mode | undefined
  /** Prints one line, which is a turn that somebody pays for. Resolves when it is taken. @throws where nobody reads */
  print: (line: string) => Promise<void> | void
  debug?: ((message: string) => void) | undefined
  now: () => number
  burstMs?: number | undefined
}

/** Decides which of the events it hears are worth a turn, says those in lines, and keeps how far it has come. */
export class Herald {
  readonly #options: HeraldOptions
  readonly #held: Coalescer<Heard>
  /** Lines that are on their way, or that nobody took: what they told of must come again. */
  #unsaid = 0
  #saying = Promise.resolve()
  readonly #aliases: string[]
  readonly #isUrgent: boolean
  readonly #default: Mode
  #seen: number | undefined
  /** Where it is, and whom it wakes; known once the server has said so. */
  room = ''
  agent = ''

  /** @throws Error whose message names the setting that cannot be used */
  constructor (options: HeraldOptions) {
    const { env, mode, burstMs, now, state } = options
    this.#options = options
    this.#default = mode ?? readMode(env['READYROOM_WATCH_MODE'])
    this.#isUrgent = env['READYROOM_WATCH_MENTION_PRIORITY'] !== 'off'
    this.#aliases = (env['READYROOM_WATCH_MENTIONS'] ?? '').split(',').map(alias => alias.trim().replace(/^@/, '')).filter(alias => alias !== '')
    this.#held = new Coalescer({
      intervalMs: readSeconds(env['READYROOM_WATCH_MIN_INTERVAL']) * 1_000,
      ...(burstMs !== undefined && { burstMs }),
      flush: heard => { this.#say(heard) }
    })
    this.#seen = state.openWatch(now())
  }

  /** What was set while it runs goes before what it was started with. */
  get mode (): Mode { return this.#options.state.mode() ?? this.#default }

  /** The last event that it knows of; undefined where it has not begun. */
  get seen (): number | undefined { return this.#seen }

  hear (event: NewsEvent): void {
    if (this.#seen !== undefined && event.id <= this.#seen) return
    // A line has room for a beginning, and what waits for its turn waits in memory.
    const body = event.body?.slice(0, 2 * LINE_CHARS)
    const heard = { event: { ...event, ...(body !== undefined && { body }) }, isForUs: this.#isForUs(event) }
    if (!this.#counts(heard)) return this.pass(event.id)
    this.#seen = event.id
    this.#held.hear(heard, heard.isForUs && this.#isUrgent)
  }

  /** Nothing up to there is worth a word, but what is held already. */
  pass (id: number): void {
    if (id === this.#seen) return
    if (this.#held.oldest === undefined) this.mark(id)
    else this.#seen = id
  }

  /** Goes on from there, whatever it knew. */
  mark (id: number): void {
    this.#seen = id
    this.#keep()
  }

  print (line: string): void {
    const { print, settings } = this.#options
    this.#unsaid++
    this.#saying = Promise.resolve(print(line)).then(() => {
      this.#unsaid--
      this.#keep()
    }, err => { this.#debug(`nobody took a line: ${(err as Error).message}`) })
    // What it costs is counted where it is kept; a server that does not count is as good.
    ask(settings, { method: 'POST', path: 'v1/attention', body: { kind: 'wake', n: 1, room: this.room }, ms: ANSWER_MS }).catch(() => {})
  }

  /** Says what is held, and waits a moment until it is taken. */
  async finish (): Promise<void> {
    this.#held.flush()
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.#saying, new Promise(resolve => { timer = setTimeout(resolve, LAST_WORDS_MS) })])
    clearTimeout(timer)
  }

  #isForUs ({ actor, actor_kind: kind, concerns = [], body }: NewsEvent): boolean {
    if (actor === this.agent && kind !== 'system') return false
    return concerns.includes(this.agent) || (body !== undefined && mentions(body, this.#aliases))
  }

  /** Whether it is worth a turn in the mode that is set now. Never what we did ourselves. */
  #counts ({ event, isForUs }: Heard): boolean {
    if (event.actor === this.agent) return false
    const { mode } = this
    return mode !== 'hook-only' && (isForUs || (mode === 'all' && isTraffic(event)))
  }

  /** The mode may be another one by now. */
  #say (heard: Heard[]): void {
    // Whoever has the place says it.
    if (this.#options.state.isWatchDisplaced()) return
    const wanted = heard.filter(one => this.#counts(one))
    if (wanted.length > 0) this.print(lineFor(this.room, wanted))
    if (this.#seen !== undefined) this.mark(this.#seen)
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

  #debug (message: string): void { this.#options.debug?.(`readyroom watch: ${message}`) }
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
