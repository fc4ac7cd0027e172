import { createHash } from 'node:crypto'
import { readFileSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { readNews } from './news'
import { ask, refusal } from './request'
import { NO_TOKEN, readSettings, type Settings } from './settings'
import { isMode, MODES, State, type Mode } from './state'
import { WATCH_VERSION } from './versions'
import { Watcher } from './watch'

const CHECK_MS = 5_000
const USAGE = 'readyroom watch [--mode hook-only|mentions|all] [--set-mode MODE] [--selfcheck] [--debug] [--version]\n'

interface Line { mode?: Mode, setMode?: Mode, selfcheck: boolean, debug: boolean, version: boolean }

/** @throws Error for what is not understood */
function readLine (argv: readonly string[]): Line {
  const line: Line = { selfcheck: false, debug: false, version: false }
  for (let at = 0; at < argv.length; at++) {
    const [flag, given] = splitOnce(argv[at]!)
    if (flag === '--mode' || flag === '--set-mode') {
      const mode = given ?? argv[++at]
      if (!isMode(mode)) throw new Error(`${flag} must be one of ${MODES.join(', ')}`)
      line[flag === '--mode' ? 'mode' : 'setMode'] = mode
    } else if (flag === '--selfcheck' || flag === '--debug' || flag === '--version') line[flag.slice(2) as 'selfcheck'] = true
    else throw new Error(`${flag.slice(0, 50)} is not understood`)
  }
  return line
}

function splitOnce (word: string): [string, string?] {
  const at = word.indexOf('=')
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

/** Runs the watcher on this process; the exit code. `self` is the file that runs. */
export async function main (argv: readonly string[], self?: string): Promise<number> {
  const { env, platform, stderr, stdout } = process
  const note = (message: string): void => { stderr.write(`${message}\n`) }
  const over = new AbortController()
  stderr.on('error', () => {})
  let line: Line
  let settings: Settings
  try {
    line = readLine(argv)
    settings = readSettings({ env, platform, home: homedir() })
  } catch (err) {
    note(`readyroom watch: ${(err as Error).message.replace(/\.?$/, '.')}\n${USAGE.trimEnd()}`)
    return 2
  }
  const state = new State(settings)
  if (line.version) return print(`${WATCH_VERSION}`)
  if (line.selfcheck) return selfcheck(settings, state, self)
  if (line.setMode !== undefined) {
    try {
      state.setMode(line.setMode)
    } catch (err) {
      note(`readyroom watch: the mode cannot be kept: ${(err as Error).message}. Let this user write ${settings.folder}.`)
      return 1
    }
    return print(`The mode is ${line.setMode}, for a watcher that runs and for those to come.`)
  }
  if (settings.token === undefined) {
    note(`readyroom watch: ${NO_TOKEN}.`)
    return 2
  }
  // Whoever has read this has gone, and nobody else is to be woken.
  stdout.on('error', () => { over.abort() })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => { over.abort() })
  try {
    const isLoud = line.debug || env['READYROOM_WATCH_DEBUG'] === '1'
    return await new Watcher({
      settings,
      state,
      env,
      mode: line.mode,
      print: text => new Promise((resolve, reject) => { stdout.write(`${text}\n`, err => { if (err) reject(err); else resolve() }) }),
      note,
      ...(isLoud && { debug: note }),
      signal: over.signal
    }).run()
  } catch (err) {
    note(`readyroom watch: ${(err as Error).message}.`)
    return 2
  }
}

function print (text: string): number {
  writeSync(1, `${text}\n`)
  return 0
}

/** Says how this is set up, and whether it works. */
async function selfcheck (settings: Settings, state: State, self: string | undefined): Promise<number> {
  const digest = self === undefined ? '' : ` sha256 ${createHash('sha256').update(readFileSync(self)).digest('hex')} (${self})`
  const beat = state.sinceBeat(Date.now())
  const lines = [
    `watch    ${WATCH_VERSION}${digest}`,
    `server   ${settings.base}`,
    `token    ${settings.token === undefined ? `WRONG: ${NO_TOKEN}` : 'set'}`,
    `mode     ${state.mode() ?? 'not set while running'}`,
    `alive    ${beat === undefined ? 'no watcher has run here' : `a sign of life ${Math.round(beat / 1_000)} s ago`}`
  ]
  let code = settings.token === undefined ? 1 : 0
  const wrong = (what: string): void => { lines.push(`room     WRONG: ${what}`); code = 1 }
  try {
    const { status, json } = await ask(settings, { path: 'v1/unread', query: { room: settings.room, limit: 1 }, ms: CHECK_MS })
    const news = status === 200 ? readNews(json) : undefined
    if (news !== undefined) lines.push(`room     ${news.room}, as ${news.agent}`)
    else wrong(status === 200 ? 'what answers there is no Ready Room' : refusal(status))
  } catch (err) {
    wrong((err as Error).message)
  }
  print(lines.join('\n'))
  return code
}
