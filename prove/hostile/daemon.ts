import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, freePort } from '../../test/helpers/process'

const BUILT = new URL('../../dist/readyroom.mjs', import.meta.url).pathname
const MIB = 1_024 * 1_024

/** The built product as a daemon of its own, in a home of its own. */
export class Daemon {
  readonly port: number
  readonly token: string | undefined
  readonly #home: string
  readonly #child: ChildProcess
  stderr = ''

  private constructor (child: ChildProcess, { port, home, token }: { port: number, home: string, token: string | undefined }) {
    this.#child = child
    this.port = port
    this.#home = home
    this.token = token
    child.stderr!.setEncoding('utf8').on('data', (text: string) => { this.stderr = (this.stderr + text).slice(-100_000) })
  }

  static async start ({ token }: { token?: string } = {}): Promise<Daemon> {
    const home = await mkdtemp(join(tmpdir(), 'readyroom-hostile-'))
    const port = await freePort()
    const env = { PATH: process.env['PATH'], HOME: home, READYROOM_PORT: String(port), ...(token !== undefined && { READYROOM_TOKEN: token }) }
    const child = spawn(process.execPath, [BUILT, 'serve'], { cwd: home, env, stdio: ['ignore', 'ignore', 'pipe'] })
    const daemon = new Daemon(child, { port, home, token })
    process.once('exit', () => child.kill('SIGKILL'))
    await eventually(() => daemon.stderr.includes('heads-up page is open') || undefined, 'the daemon to listen')
    return daemon
  }

  get origin (): string { return `http://127.0.0.1:${this.port}` }
  get isAlive (): boolean { return this.#child.exitCode === null && this.#child.signalCode === null }

  /** What the processes of this machine share: no answer may ever hold it. */
  get secret (): string {
    return (JSON.parse(readFileSync(join(this.#home, '.local/state/readyroom/daemon.json'), 'utf8')) as { secret: string }).secret
  }

  /** Resident memory, in MiB. */
  get rss (): number { return this.#memory('VmRSS') }

  /** The most that it ever was, in MiB. */
  get peak (): number { return this.#memory('VmHWM') }

  async stop (): Promise<void> {
    if (this.isAlive) {
      this.#child.kill('SIGTERM')
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
      await once(this.#child, 'exit')
      clearTimeout(timer)
    }
    await rm(this.#home, { recursive: true, force: true })
  }

  #memory (field: string): number {
    const kib = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1]
    return Math.round(Number(kib) * 1_024 / MIB)
  }
}
