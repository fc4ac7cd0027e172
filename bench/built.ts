// The built product as a process: what a person installs, not the source.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { temporaryFolder } from './processes'

const BUILT = new URL('../dist/readyroom.mjs', import.meta.url).pathname

export async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const { port } = server.address() as { port: number }
  await new Promise(resolve => { server.close(resolve) })
  // The product keeps clear of these, since a worktree helper gives them out.
  return port >= 3_000 && port < 3_900 ? freePort() : port
}

/** A home of its own, so that nothing meets the real one. */
export interface Home { dir: string, port: number, env: NodeJS.ProcessEnv }

export async function makeHome (): Promise<Home> {
  const dir = await temporaryFolder()
  const port = await freePort()
  const env = { PATH: process.env['PATH'], HOME: dir, READYROOM_STATE_DIR: join(dir, 'state'), READYROOM_PORT: String(port) }
  return { dir, port, env }
}

export interface StdioProcess {
  child: ChildProcessWithoutNullStreams
  /** Sends a message and resolves with the reply of the same id. */
  request (message: { id: number, method: string, params?: object }): Promise<unknown>
  close (): Promise<void>
}

/** A process that speaks MCP on its pipes. */
export function startStdio (command: readonly string[], env: NodeJS.ProcessEnv, cwd: string): StdioProcess {
  const child = spawn(process.execPath, command, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] }) as unknown as ChildProcessWithoutNullStreams
  const replies = new Map<number, (reply: unknown) => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    const reply = JSON.parse(line) as { id?: number }
    if (reply.id !== undefined) replies.get(reply.id)?.(reply)
  })
  const exited = new Promise<void>(resolve => { child.once('exit', () => { resolve() }) })
  return {
    child,
    request: message => new Promise(resolve => {
      replies.set(message.id, resolve)
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    }),
    async close () {
      child.stdin.end()
      await exited
    }
  }
}

export const startBuilt = ({ env, dir }: Home, args: readonly string[] = []): StdioProcess => startStdio([BUILT, ...args], env, dir)

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '0' } }

export async function initialize (client: StdioProcess): Promise<void> {
  await client.request({ id: 0, method: 'initialize', params: HELLO })
  client.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
}
