import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import type { Ticket } from '../../schemas/ticket'

const root = resolve(import.meta.dirname, '../..')
const bundle = join(root, 'dist/readyroom.mjs')

/** What Node is started with: the built product, or the sources where there is none or they are asked for. */
export const SCRIPT: string[] = existsSync(bundle) && process.env['READYROOM_TEST_SOURCE'] === undefined
  ? [bundle]
  : [`--import=${join(root, 'ts-hooks.mjs')}`, join(root, 'cli.ts')]

/** How long anything that a test waits for may take, in milliseconds. */
const PATIENCE_MS = 20_000

export interface StartOptions {
  /** The project folder, below the world's home. */
  cwd?: string
  env?: Record<string, string | undefined>
  stdio?: StdioOptions
  uid?: number
  gid?: number
}

export interface Finished { code: number | null, signal: NodeJS.Signals | null, stdout: string, stderr: string, ms: number }

/** A port that nobody listens on now, and that Ready Room takes. */
export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port >= 3000 && port <= 3899 ? freePort() : port
}

/** Resolves as soon as `look` finds something. */
export async function eventually<T> (look: () => T | undefined | Promise<T | undefined>, what: string, ms = PATIENCE_MS): Promise<NonNullable<T>> {
  const end = performance.now() + ms
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    if (performance.now() > end) throw new Error(`Waited ${ms} ms for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** What a tool answers, of whichever tool. */
export interface ToolResult { id: string, status: string, answer?: string, expires_at?: string, tickets?: Ticket[] }

export interface Message {
  id?: number
  method?: string
  result?: { structuredContent?: ToolResult, isError?: boolean, [field: string]: unknown }
  error?: { code: number, message: string }
}

/** One process of Ready Room, and what it has said. */
export class Running {
  readonly child: ChildProcess
  readonly started = performance.now()
  /** Resolves when the process has gone and its output is read. */
  readonly finished: Promise<Finished>
  stdout = ''
  stderr = ''
  readonly #listeners = new Set<() => void>()
  readonly #awaited = new Map<number, (answer: Message) => void>()
  #over = false
  #id = 0
  /** Up to where standard output has been looked through for answers. */
  #read = 0

  constructor (child: ChildProcess) {
    this.child = child
    child.stdout?.setEncoding('utf8').on('data', text => { this.stdout += text; this.#deliver(); this.#changed() })
    child.stderr?.setEncoding('utf8').on('data', text => { this.stderr += text; this.#changed() })
    child.stdin?.on('error', () => {})
    this.finished = once(child, 'close').then(([code, signal]) => {
      this.#over = true
      this.#changed()
      return { code, signal, stdout: this.stdout, stderr: this.stderr, ms: performance.now() - this.started }
    })
  }

  get pid (): number { return this.child.pid! }
  get over (): boolean { return this.#over }

  kill (signal: NodeJS.Signals): void { this.child.kill(signal) }

  /** Resolves with what `look` finds in the output, looked at as it grows. */
  until<T> (look: (output: { stdout: string, stderr: string }) => T | undefined, what: string, ms = PATIENCE_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const done = (): void => { clearTimeout(timer); this.#listeners.delete(check) }
      const check = (): void => {
        const found = look(this)
        if (found !== undefined) {
          done()
          resolve(found)
        } else if (this.#over) {
          done()
          reject(new Error(`The process ended before ${what}. It said:\n${this.stderr}`))
        }
      }
      const timer = setTimeout(() => {
        done()
        reject(new Error(`Waited ${ms} ms for ${what}. It said:\n${this.stderr}`))
      }, ms)
      this.#listeners.add(check)
      check()
    })
  }

  /** Resolves when a line of the log matches. */
  logged (pattern: RegExp, ms?: number): Promise<string> {
    return this.until(({ stderr }) => stderr.split('\n').find(line => pattern.test(line)), `a log line like ${pattern}`, ms)
  }

  /** Resolves when the page can be opened, or whatever else stands for having a place. */
  opened (ms?: number): Promise<string> {
    return this.logged(/The heads-up page is open/, ms)
  }

  /** Sends a message over standard input. */
  say (message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Sends a request over standard input and resolves with the answer to it, result or error. */
  async request (method: string, params: object, ms?: number): Promise<Message> {
    const id = ++this.#id
    let answer: Message | undefined
    this.#awaited.set(id, message => { answer = message })
    this.say({ id, method, params })
    return this.until(() => answer, `an answer to ${method}`, ms).finally(() => this.#awaited.delete(id))
  }

  /** Opens the session, as clients up to revision 2025-11-25 do. */
  async initialize (): Promise<void> {
    await this.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } })
    this.say({ method: 'notifications/initialized' })
  }

  /** Calls a tool and resolves with its structured result. */
  async call (name: string, args: object, ms?: number): Promise<ToolResult> {
    const answer = await this.request('tools/call', { name, arguments: args }, ms)
    const content = answer.result?.structuredContent
    if (content === undefined) throw new Error(`No result: ${JSON.stringify(answer)}`)
    return content
  }

  /** Each line is read once: a process may say very many. */
  #deliver (): void {
    if (this.#awaited.size === 0) return
    const end = this.stdout.lastIndexOf('\n') + 1
    for (const message of messages(this.stdout.slice(this.#read, end))) {
      if (message.id !== undefined && (message.result ?? message.error) !== undefined) this.#awaited.get(message.id)?.(message)
    }
    this.#read = end
  }

  #changed (): void {
    for (const check of [...this.#listeners]) check()
  }
}

/** The messages in what was read so far; the last line may not be whole. Throws where a line is no message. */
export function messages (stdout: string): Message[] {
  return stdout.split('\n').slice(0, -1).map(line => JSON.parse(line))
}

/** A throw-away home folder, a free port and nothing else in the environment: one machine, as far as Ready Room can tell. */
export interface World {
  home: string
  port: number
  stateDir: string
  /** The origin of the daemon, without a final slash. */
  url: string
  env: Record<string, string>
  /** Starts a process with these arguments. Its pipes are open unless `stdio` says otherwise. */
  start (args?: string[], options?: StartOptions): Running
  /** The command line of a process with these arguments, for whoever starts it themselves. */
  command (args?: string[], env?: Record<string, string>): { command: string, args: string[] }
  /** Starts bash with this script, in which `"$@"` is Ready Room with these arguments. */
  startShell (script: string, args: string[], options?: StartOptions): Running
  /** Makes a folder another user's, and the home above it open to be walked through. */
  share (folder: string, user: { uid: number, gid: number }, mode?: number): void
  /** Runs one to its end, with nothing on standard input. */
  run (args?: string[], options?: StartOptions & { input?: string }): Promise<Finished>
  /** The processes of this world that are alive, children of the test or not. */
  alive (): number[]
  /** Ends all of them, at once and for good. */
  killAll (): Promise<void>
  api<T> (path: string, body?: object): Promise<{ status: number, body: T }>
}

// A test that is cut short tears nothing down.
const everyone = new Set<Running>()
process.once('exit', () => { for (const running of everyone) if (!running.over) running.kill('SIGKILL') })

/** Makes a world. When the test, or whatever tears down, ends it is an error if a process of it lives on that the test did not start itself. */
export async function createWorld (t: Pick<Test, 'teardown'>, { port }: { port?: number } = {}): Promise<World> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'readyroom-test-')))
  const started: Running[] = []
  const own = port ?? await freePort()
  // What was compiled would be kept outside the world, once for every copy of the product that a test makes.
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, READYROOM_PORT: String(own), NODE_DISABLE_COMPILE_CACHE: '1' }
  const url = `http://127.0.0.1:${own}`

  const launch = (command: string[], { cwd = 'project', env: more = {}, stdio = ['pipe', 'pipe', 'pipe'], uid, gid }: StartOptions): Running => {
    const folder = resolve(home, cwd)
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true })
    const [file, ...rest] = cleanly(command, { ...env, ...more })
    const child: ChildProcess = spawn(file!, rest, {
      cwd: folder, stdio, ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid })
    })
    const running = new Running(child)
    started.push(running)
    everyone.add(running)
    return running
  }
  const start: World['start'] = (args = [], options = {}) => launch([process.execPath, ...SCRIPT, ...args], options)

  const killAll = async (): Promise<void> => {
    for (const running of started) if (!running.over) running.kill('SIGKILL')
    await Promise.all(started.map(({ finished }) => finished))
    for (const pid of processesIn(home)) process.kill(pid, 'SIGKILL')
    await eventually(() => processesIn(home).length === 0 || undefined, 'every process to go')
  }

  t.teardown(async () => {
    const ours = new Set(started.map(({ pid }) => pid))
    const strays = processesIn(home).filter(pid => !ours.has(pid))
    await killAll()
    rmSync(home, { recursive: true, force: true })
    if (strays.length > 0) throw new Error(`Processes were left behind: ${strays.join(', ')}`)
  })

  return {
    home,
    port: own,
    stateDir: join(home, '.local/state/readyroom'),
    url,
    env,
    start,
    command (args = [], more = {}) {
      const [command, ...rest] = cleanly([process.execPath, ...SCRIPT, ...args], { ...env, ...more })
      return { command: command!, args: rest }
    },
    startShell: (script, args, options = {}) => launch(['bash', '-c', script, 'bash', process.execPath, ...SCRIPT, ...args], options),
    share (folder, { uid, gid }, mode = 0o755) {
      chmodSync(home, 0o711)
      chmodSync(folder, mode)
      chownSync(folder, uid, gid)
    },
    async run (args = [], { input, ...options } = {}) {
      const running = start(args, { ...options, stdio: options.stdio ?? [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] })
      if (input !== undefined) running.child.stdin!.end(input)
      const timer = setTimeout(() => running.kill('SIGKILL'), PATIENCE_MS)
      const finished = await running.finished
      clearTimeout(timer)
      return finished
    },
    alive: () => processesIn(home),
    killAll,
    async api<T> (path: string, body?: object) {
      const init = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
      const response = await fetch(`${url}${path}`, init)
      return { status: response.status, body: await response.json() as T }
    }
  }
}

/**
 * The command with this environment and nothing else. The test runner adds itself to whatever its processes start, which
 * would not be the product any more; env(1) takes that off, and becomes the command.
 */
function cleanly (command: string[], env: Record<string, string | undefined>): string[] {
  return ['/usr/bin/env', '-i', ...Object.entries(env).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${value}`), ...command]
}

/** Linux tells of every process what environment it was started with; a successor has inherited the home folder. */
function processesIn (home: string): number[] {
  return readdirSync('/proc').filter(name => /^\d+$/.test(name)).map(Number).filter(pid => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${home}`) && !isZombie(pid)
    } catch { return false }
  })
}

const isZombie = (pid: number): boolean => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').startsWith('Z')
