// One machine, as far as Ready Room can tell: a throw-away home, a port, and the built product as processes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const BUNDLE = new URL('../dist/readyroom.mjs', import.meta.url).pathname

/** How long anything that must come may take, in milliseconds: a busy machine is no broken promise. */
const PATIENCE_MS = 30_000
/** How much of what a process says is kept, in characters: enough to see why it failed. */
const KEPT = 4_000

/** Resolves as soon as `look` finds something. */
export async function until<T> (look: () => T | undefined | Promise<T | undefined>, what: string, ms = PATIENCE_MS): Promise<T> {
  const end = performance.now() + ms
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > end) throw new Error(`Waited ${ms} ms for ${what}`)
    await new Promise(resolve => { setTimeout(resolve, 10) })
  }
}

async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  // The product keeps clear of these, since a worktree helper gives them out.
  return port >= 3_000 && port <= 3_899 ? freePort() : port
}

/** A process that is started with nothing but this environment, whatever its parent lives in. */
export class Program {
  readonly child: ChildProcess
  /** Resolves with the exit code, or the signal's name, once the process has gone. Never rejects. */
  readonly gone: Promise<number | string>
  over = false
  stdout = ''
  stderr = ''

  constructor (args: readonly string[], env: Record<string, string>, cwd: string, pipes: boolean) {
    const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    this.child = spawn('/usr/bin/env', ['-i', ...pairs, process.execPath, BUNDLE, ...args],
      { cwd, stdio: [pipes ? 'pipe' : 'ignore', 'pipe', 'pipe'] })
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => { this.stderr = (this.stderr + text).slice(-KEPT) })
    if (!pipes) this.child.stdout!.setEncoding('utf8').on('data', (text: string) => { this.stdout += text })
    this.gone = new Promise(resolve => {
      this.child.once('close', (code, signal) => {
        this.over = true
        resolve(signal ?? code ?? -1)
      })
    })
  }

  get pid (): number { return this.child.pid! }

  kill (signal: NodeJS.Signals = 'SIGKILL'): void { this.child.kill(signal) }
}

/** What comes back for a request over MCP, of which a run looks at no more than this. */
export interface Reply {
  result?: { structuredContent?: Record<string, unknown>, isError?: boolean, content?: Array<{ text: string }> }
  error?: { message: string }
}

/** An agent's process: MCP on its pipes. */
export class AgentProgram extends Program {
  #id = 0
  readonly #waiting = new Map<number, { resolve: (reply: Reply) => void, reject: (err: Error) => void }>()

  constructor (args: readonly string[], env: Record<string, string>, cwd: string) {
    super(args, env, cwd, true)
    this.child.stdin!.on('error', () => {})
    createInterface({ input: this.child.stdout! }).on('line', line => {
      const message = JSON.parse(line) as Reply & { id?: number }
      const waiting = this.#waiting.get(message.id ?? -1)
      if (waiting === undefined) return
      this.#waiting.delete(message.id!)
      waiting.resolve(message)
    })
    this.gone.then(() => {
      for (const { reject } of this.#waiting.values()) reject(new Error('The process ended before it replied'))
      this.#waiting.clear()
    })
  }

  /** @throws Error when the process ends before it replies */
  request (method: string, params: object): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.over) return reject(new Error('The process has ended'))
      const id = ++this.#id
      this.#waiting.set(id, { resolve, reject })
      this.#send({ id, method, params })
    })
  }

  async initialize (): Promise<void> {
    await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'prove', version: '0' } })
    this.#send({ method: 'notifications/initialized' })
  }

  #send (message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

const everyone = new Set<Program>()
// A run that is cut short must not leave its processes behind.
process.once('exit', () => { for (const program of everyone) if (!program.over) program.kill() })

export class Machine {
  readonly home: string
  readonly port: number
  readonly stateDir: string
  readonly url: string
  readonly #programs = new Set<Program>()

  private constructor (home: string, port: number) {
    this.home = home
    this.port = port
    this.stateDir = join(home, 'state')
    this.url = `http://127.0.0.1:${port}`
  }

  static async create (): Promise<Machine> {
    return new Machine(realpathSync(mkdtempSync(join(tmpdir(), 'readyroom-prove-'))), await freePort())
  }

  /** Starts `readyroom serve`. `env` comes on top of what points it to this machine. */
  serve (env: Record<string, string> = {}): Program {
    return this.#note(new Program(['serve'], this.#env(env), this.home, false))
  }

  /** Starts an agent's process, the daemon or a client of it. */
  agent (env: Record<string, string> = {}): AgentProgram {
    return this.#note(new AgentProgram([], this.#env({ READYROOM_STREAM: 'stdio', ...env }), this.home))
  }

  /** Runs a command to its end. */
  async run (args: readonly string[]): Promise<{ code: number | string, stdout: string, stderr: string }> {
    const program = this.#note(new Program(args, this.#env({}), this.home, false))
    const code = await program.gone
    return { code, stdout: program.stdout, stderr: program.stderr }
  }

  /** The process of ours that says it is the daemon, where it lives. */
  daemon (): Program | undefined {
    const path = join(this.stateDir, 'daemon.json')
    if (!existsSync(path)) return undefined
    try {
      const { pid } = JSON.parse(readFileSync(path, 'utf8')) as { pid: number }
      return [...this.#programs].find(program => program.pid === pid && !program.over)
    } catch { return undefined }
  }

  /** The processes that live. */
  get alive (): Program[] { return [...this.#programs].filter(({ over }) => !over) }

  /** Resolves once a daemon answers; `starter`, where given, may not end before that. */
  async serving (starter?: Program): Promise<void> {
    await until(async () => {
      if (starter?.over) throw new Error(`The process ended at its start. It said:\n${starter.stderr}`)
      try {
        const response = await fetch(`${this.url}/healthz`, { signal: AbortSignal.timeout(1_000) })
        await response.arrayBuffer()
        return response.ok || undefined
      } catch { return undefined }
    }, 'a daemon that answers')
  }

  async killAll (): Promise<void> {
    const { alive } = this
    for (const program of alive) program.kill()
    await Promise.all(alive.map(({ gone }) => gone))
  }

  /** Ends whatever lives, and removes the home. */
  async close (): Promise<void> {
    await this.killAll()
    rmSync(this.home, { recursive: true, force: true })
  }

  #env (more: Record<string, string>): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.home, READYROOM_STATE_DIR: this.stateDir, READYROOM_PORT: String(this.port), ...more }
  }

  #note<T extends Program> (program: T): T {
    this.#programs.add(program)
    everyone.add(program)
    program.gone.then(() => {
      this.#programs.delete(program)
      everyone.delete(program)
    })
    return program
  }
}
