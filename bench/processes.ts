import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DiskName } from './disks'

const root = new URL('../', import.meta.url).pathname

export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'readyroom-bench-'))
export const removeFolder = (dir: string): Promise<void> => rm(dir, { recursive: true, force: true })

/** In bytes. */
export interface Memory { rss: number, heapUsed: number }

export interface BenchServer {
  port: number
  dir: string
  /** After a garbage collection. */
  memory (): Promise<Memory>
  close (): Promise<void>
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => { if (child.exitCode !== null || child.signalCode !== null) resolve(); else child.once('exit', () => resolve()) })

/** Starts a script of this folder that says its port on its first line. */
async function start (script: string, args: readonly string[], dir: string): Promise<BenchServer> {
  const child = spawn(process.execPath, ['--expose-gc', '--import=./ts-hooks.mjs', `bench/${script}`, ...args], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async <T>(): Promise<T> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`bench/${script} ended before it answered`)
    return JSON.parse(value) as T
  }
  const { port } = await next<{ port: number }>()
  return {
    port,
    dir,
    async memory () {
      child.stdin.write('memory\n')
      return next<Memory>()
    },
    async close () {
      child.stdin.end()
      await ended(child)
      await removeFolder(dir)
    }
  }
}

/** The product's app in a process of its own, with a state folder that goes when it closes. */
export async function startServer (disk: DiskName = 'real'): Promise<BenchServer> {
  const dir = await temporaryFolder()
  return start('server.ts', [dir, disk], dir)
}

/** The SDK's own handler in a process of its own: checks nothing, stores nothing. */
export async function startBare (): Promise<BenchServer> {
  const dir = await temporaryFolder()
  return start('mcp-bare.ts', ['http'], dir)
}
