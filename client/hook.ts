import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inject, stopSentence } from './injection'
import { readNews, type News } from './news'
import { ask, refusal, type Answer, type Ask } from './request'
import { NO_TOKEN, readSettings, type Settings, type Surroundings } from './settings'
import { State, type HookMarks } from './state'
import { HOOK_VERSION, isOlder } from './versions'

/** When an agent may be told of something. */
const EVENTS = ['UserPromptSubmit', 'PostToolUse', 'SessionStart', 'Stop']

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** How often a hook says that no watcher runs, in one session. */
const DEAF_AGAIN_MS = 3_600_000
/** A stream is silent for 15 s at most, so that three signs are missing by then. */
const DEAF_MS = 60_000
const OLDEST_NODE = 18
/** How long one hook waits for another that is at it. */
const LOCK_MS = 400

export interface HookWorld extends Surroundings {
  argv: readonly string[]
  input: AsyncIterable<Uint8Array | string>
  /** Resolves when the text is taken. @throws where nobody reads */
  out: (text: string) => Promise<void>
  /** For standard error. */
  note: (message: string) => void
  now: () => number
  /** How long everything may take from now on, in milliseconds. */
  budgetMs: number
  /** The file that runs, for its digest. */
  self?: string | undefined
}

/**
 * Tells an agent what it has not seen, at one of its hooks: reads the client's JSON, writes JSON for it, or nothing.
 * The exit code is 0 whatever happens, but for `--selfcheck`: an agent never waits or fails for the room's sake.
 */
export async function hook (world: HookWorld): Promise<number> {
  const { argv, env, note } = world
  if (argv.includes('--version')) {
    await world.out(`${HOOK_VERSION}\n`)
    return 0
  }
  if (argv.includes('--selfcheck')) return selfcheck(world)
  const isLoud = argv.includes('--debug') || env['READYROOM_HOOK_DEBUG'] === '1'
  try {
    const outcome = await tell(world)
    if (isLoud) note(`readyroom hook: ${outcome}`)
  } catch (err) {
    if (isLoud) note(`readyroom hook: nothing was said: ${(err as Error).message}`)
  }
  return 0
}

interface HookInput { hook_event_name?: unknown, stop_hook_active?: unknown, agent_id?: unknown, session_id?: unknown }

/** What came of it, in words. */
async function tell (world: HookWorld): Promise<string> {
  const end = performance.now() + world.budgetMs
  const left = (): number => Math.max(1, end - performance.now())
  const input = await readInput(world.input)
  const { hook_event_name: event } = input
  if (typeof event !== 'string' || !EVENTS.includes(event)) return `there is nothing to say at ${JSON.stringify(event)}`
  if (event === 'Stop' && input.stop_hook_active === true) return 'the agent goes on already because of a hook'
  if (input.agent_id !== undefined) return 'this is a helper of the agent; what is unread is for the agent itself'

  const settings = readSettings(world)
  if (settings.token === undefined) return NO_TOKEN
  const state = new State(settings)
  const unlock = await hold(state, world, event, left)
  if (typeof unlock === 'string') return unlock
  try {
    const marks = state.hookMarks()
    if (event === 'PostToolUse') {
      const since = world.now() - (marks.askedAt ?? 0)
      if (since >= 0 && since < MINUTE_MS) return 'a tool of the agent ended less than a minute ago, and it was told then'
      marks.askedAt = world.now()
      state.saveHookMarks(marks)
    }
    return await look({ world, settings, state, marks, event, session: String(input.session_id ?? ''), left })
  } finally {
    unlock?.()
  }
}

interface Turn {
  world: HookWorld
  settings: Settings
  state: State
  marks: HookMarks
  event: string
  session: string
  left: () => number
}

async function look (turn: Turn): Promise<string> {
  const { world, settings, marks, event } = turn
  const send = (what: Omit<Ask, 'ms'>): Promise<Answer> => ask(settings, { ...what, ms: turn.left() })
  const answer = await send({ path: 'v1/unread', query: { room: settings.room, limit: 100 } })
  if (answer.status !== 200) return refusal(answer.status)
  const news = readNews(answer.json)
  if (news === undefined) return 'what answers there is no Ready Room'
  const fresh = unseen(news, marks)

  if (event === 'Stop') {
    if (fresh.unread === 0 || marks.stoppedAt === fresh.through) return 'nothing happened since'
    await world.out(`${JSON.stringify({ decision: 'block', reason: stopSentence(fresh) })}\n`)
    save(turn, { ...marks, stoppedAt: fresh.through })
    await count(send, news.room)
    return `the agent was told of ${fresh.unread}, and goes on`
  }

  const notices = noticesOf(turn, answer.headers['x-readyroom-hook-version'])
  const injection = fresh.unread === 0 ? undefined : inject(fresh, randomBytes(16).toString('hex'))
  const text = [...notices.said, ...injection === undefined ? [] : [injection.text]].join('\n')
  if (text === '') return 'nothing happened since'
  await world.out(`${JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: text } })}\n`)
  // Only now, when it is out: what was not shown must come again.
  const [committed] = await Promise.all([
    injection === undefined ? undefined : send({ method: 'POST', path: 'v1/cursor', body: { ...inRoom(settings), through: injection.through } }).catch(() => undefined),
    count(send, news.room)
  ])
  const isRefused = committed !== undefined && committed.status >= 400 && committed.status < 500
  save(turn, { ...notices.marks, ...(isRefused && injection !== undefined && { shown: injection.through }) })
  return injection === undefined ? 'a notice was given' : `the agent was told of ${fresh.unread}`
}

const inRoom = ({ room }: Settings): { room?: string } => room === undefined ? {} : { room }

/** Without what was shown although the cursor could not be moved. A log that has begun anew is behind that mark. */
function unseen (news: News, { shown = 0 }: HookMarks): News {
  if (shown === 0 || news.through < shown) return news
  const events = news.events.filter(({ id }) => id > shown)
  return { ...news, events, unread: Math.max(events.length, news.unread - (news.events.length - events.length)) }
}

/** One hook at a time, so that two tools that end together say it once. The words where this one has nothing to do. */
async function hold (state: State, { now }: HookWorld, event: string, left: () => number): Promise<(() => void) | string | undefined> {
  const end = performance.now() + Math.min(LOCK_MS, left() / 2)
  try {
    for (;;) {
      const unlock = state.lock(now())
      if (unlock !== undefined) return unlock
      if (event === 'PostToolUse') return 'another hook is at it'
      // Twice is better than never.
      if (performance.now() > end) return undefined
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  } catch (err) {
    // Nothing would hold it to once a minute.
    return event === 'PostToolUse' ? `its marks cannot be kept: ${(err as Error).message}` : undefined
  }
}

/** What the person should see to. */
function noticesOf ({ world: { env, now }, state, marks, event, session }: Turn, offered: unknown): { said: string[], marks: HookMarks } {
  const said: string[] = []
  const after = { ...marks }
  const isDue = (at: number | undefined, ms: number): boolean => at === undefined || now() - at >= ms || now() < at
  if (typeof offered === 'string' && isOlder(HOOK_VERSION, offered) && env['READYROOM_HOOK_VERSION_CHECK'] !== 'off' && isDue(marks.saidOldAt, DAY_MS)) {
    said.push(`Ready Room: this hook is version ${HOOK_VERSION}, and the server has ${offered}. Tell the person that \`readyroom setup hook --write\` brings it.`)
    after.saidOldAt = now()
  }
  // A session begins before it can have started one.
  if (env['READYROOM_WATCH_EXPECTED'] === '1' && event !== 'SessionStart' && state.mode() !== 'hook-only') {
    const silent = state.sinceBeat(now())
    if ((silent === undefined || silent > DEAF_MS) && (marks.saidDeafIn !== session || isDue(marks.saidDeafAt, DEAF_AGAIN_MS))) {
      said.push('Ready Room: no watcher runs, so nobody can wake you while you wait. Start `readyroom watch` again in the background, as a monitor.')
      after.saidDeafAt = now()
      after.saidDeafIn = session
    }
  }
  return { said, marks: after }
}

function save ({ state }: Turn, marks: HookMarks): void {
  try { state.saveHookMarks(marks) } catch {}
}

/** The room counts what attention costs. A server that does not is as good. */
async function count (send: (what: Omit<Ask, 'ms'>) => Promise<Answer>, room: string): Promise<void> {
  await send({ method: 'POST', path: 'v1/attention', body: { kind: 'inject', n: 1, room } }).catch(() => {})
}

/** @throws Error where it is no JSON object */
async function readInput (input: HookWorld['input']): Promise<HookInput> {
  const pieces: Uint8Array[] = []
  for await (const piece of input) pieces.push(Buffer.from(piece as Uint8Array))
  const text = Buffer.concat(pieces).toString('utf8').replace(/^\ufeff/, '')
  let value: unknown
  try { value = JSON.parse(text) } catch { throw new Error('standard input holds no JSON; the client starts this with JSON there') }
  if (typeof value !== 'object' || value === null) throw new Error('standard input holds no JSON object')
  return value
}

/** Says how this is set up, and whether it works. */
async function selfcheck (world: HookWorld): Promise<number> {
  const lines = [`hook     ${HOOK_VERSION}${world.self === undefined ? '' : ` sha256 ${digestOf(world.self)} (${world.self})`}`]
  let isGood = true
  const say = (name: string, good: boolean, text: string): void => {
    isGood &&= good
    lines.push(`${name.padEnd(8)} ${good ? '' : 'WRONG: '}${text}`)
  }
  say('node', Number.parseInt(process.versions.node) >= OLDEST_NODE, `${process.version}; ${OLDEST_NODE} or later is needed`)
  try {
    const settings = readSettings(world)
    lines.push(`server   ${settings.base}`)
    say('token', settings.token !== undefined, settings.token === undefined ? NO_TOKEN : 'set')
    try {
      const unlock = new State(settings).lock(world.now())
      unlock?.()
      say('marks', true, settings.folder)
    } catch (err) {
      say('marks', false, `${settings.folder} cannot be written (${(err as Error).message}); tools that end say nothing until it can`)
    }
    const unread = await ask(settings, { path: 'v1/unread', query: { room: settings.room, limit: 1 }, ms: world.budgetMs })
    const news = unread.status === 200 ? readNews(unread.json) : undefined
    if (news === undefined) say('room', false, unread.status === 200 ? 'what answers there is no Ready Room' : refusal(unread.status))
    else say('room', true, `${news.room}, as ${news.agent}: ${news.unread} unread`)
    const offered = unread.headers['x-readyroom-hook-version']
    if (typeof offered === 'string') say('version', !isOlder(HOOK_VERSION, offered), `the server has ${offered}`)
  } catch (err) {
    say('server', false, (err as Error).message)
  }
  await world.out(`${lines.join('\n')}\n`)
  return isGood ? 0 : 1
}

function digestOf (path: string): string {
  try { return createHash('sha256').update(readFileSync(path)).digest('hex') } catch { return 'unknown' }
}
