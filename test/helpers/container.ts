import { execFile, spawn, type ExecFileException } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { eventually, freePort, Running } from './process'

/** Of made-up containers, and long enough not to be warned about. */
export const TOKEN = 'the-token-of-a-test-container'

/** How long a container may take to begin, in milliseconds: under emulation it is many times slower. */
const PATIENCE_MS = 90_000

export interface Ended { code: number, stdout: string, stderr: string }

/** Runs the engine's client to its end, whatever the exit code. */
export function docker (...args: string[]): Promise<Ended> {
  return new Promise(resolve => {
    execFile('docker', args, { encoding: 'utf8', maxBuffer: 64 << 20 }, (err: ExecFileException | null, stdout, stderr) => {
      resolve({ code: err === null ? 0 : typeof err.code === 'number' ? err.code : 1, stdout, stderr })
    })
  })
}

/** The same, for what must succeed; resolves with standard output. */
export async function must (...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await docker(...args)
  if (code !== 0) throw new Error(`docker ${args.join(' ')}: exit code ${code}\n${stderr}${stdout}`)
  return stdout.trim()
}

/** Builds the image as it is described in the repository. Removed at the end of the test, but for what later builds reuse. */
export async function buildImage (t: Test, platform?: string): Promise<string> {
  const tag = `readyroom-test-${randomBytes(4).toString('hex')}`
  t.teardown(() => docker('rmi', '-f', tag))
  await must('build', '--quiet', '--network=host', ...(platform === undefined ? [] : ['--platform', platform]), '-f', 'docker/Dockerfile', '-t', tag, '.')
  return tag
}

export interface Container {
  id: string
  url: string
  /** A field of what the engine knows of it, in its own template language. */
  inspect (template: string): Promise<string>
  /** Runs a command inside, as root as the engine does. */
  exec (...command: string[]): Promise<Ended>
  logs (): Promise<string>
  api<T> (path: string, body?: object): Promise<{ status: number, body: T }>
  /** Resolves when it answers. */
  answers (): Promise<void>
}

/** Runs it detached, with nothing on standard input, its port on a free one of the loopback. Removed at the end of the test. */
export async function runContainer (t: Test, image: string, options: string[] = [], args: string[] = []): Promise<Container> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const id = await must('run', '-d', '-p', `127.0.0.1:${port}:8971`, '-e', `READYROOM_TOKEN=${TOKEN}`, ...options, image, ...args)
  t.teardown(() => docker('rm', '-f', '-v', id))
  return containerAt(id, url)
}

export function containerAt (id: string, url: string): Container {
  const logs: Container['logs'] = async () => {
    const { stdout, stderr } = await docker('logs', id)
    return stdout + stderr
  }
  const inspect: Container['inspect'] = template => must('inspect', '-f', template, id)
  return {
    id,
    url,
    inspect,
    exec: (...command) => docker('exec', id, ...command),
    logs,
    async api<T> (path: string, body?: object) {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json', accept: 'application/json, text/event-stream', origin: 'http://127.0.0.1:8971' }) },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) })
      })
      return { status: response.status, body: await response.json() as T }
    },
    async answers () {
      await eventually(async () => {
        if (await inspect('{{.State.Running}}') !== 'true') throw new Error(`The container has ended. It said:\n${await logs()}`)
        return await fetch(`${url}/healthz`).then(response => response.ok, () => false) || undefined
      }, 'the container to answer', PATIENCE_MS)
    }
  }
}

/** One that is in the foreground with an agent on its standard input. */
export function runWithAgent (t: Test, ...args: string[]): Running {
  const running = new Running(spawn('docker', args))
  t.teardown(() => { if (!running.over) running.kill('SIGKILL') })
  return running
}

/** A shell with these variables beside the engine's own. */
export function runShell (t: Test, script: string, env: Record<string, string>): Running {
  const engine = Object.entries(process.env).filter(([name]) => name === 'PATH' || name === 'HOME' || name.startsWith('DOCKER_'))
  const running = new Running(spawn('bash', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...Object.fromEntries(engine), ...env } }))
  t.teardown(() => { if (!running.over) running.kill('SIGKILL') })
  return running
}

/** An empty folder of root's, where no test runner's own would do: the engine may be on it until the very end. */
export function hostFolder (t: Test): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'readyroom-container-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
