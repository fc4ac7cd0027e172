import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './process'
import { ROOT } from './room'
import { TOKEN } from './worker'

const DEADLINE_MS = 60_000
/** How long workerd may take to follow wrangler, in milliseconds. */
const STOP_MS = 5_000

interface Teardown { teardown (close: () => unknown): void }

export interface WranglerDev {
  origin: string
  close (): Promise<void>
  /** Ends all of it as a power cut would: nobody gets to finish anything. */
  kill (): Promise<void>
}

/** Whether there is anybody left in the group to hear the signal. */
function signalGroup (pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch { return false }
}

/** What `npm run dev:worker` runs, on wrangler.toml as it is but for `vars`, with its state in `persist`. Nothing of it outlives the test. */
export async function startWranglerDev (t: Teardown, persist: string, vars: Record<string, string> = {}): Promise<WranglerDev> {
  const port = await freePort()
  // What it has for the moment is in a folder of ours: one that is killed takes nothing away.
  const scratch = await mkdtemp(join(tmpdir(), 'readyroom-wrangler-'))
  const child = spawn(process.execPath, [
    `${ROOT}node_modules/wrangler/bin/wrangler.js`, 'dev', '--local', '--ip', '127.0.0.1', '--port', String(port), '--persist-to', persist,
    ...Object.entries({ READYROOM_TOKEN: TOKEN, ...vars }).flatMap(([name, value]) => ['--var', `${name}:${value}`]), '--show-interactive-dev-session=false', '--inspector-port', String(await freePort())
  ], {
    cwd: ROOT,
    // A group of its own: workerd is in it, and would outlive wrangler alone.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', CI: 'true', TMPDIR: scratch }
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { said += text })
  const gone = once(child, 'exit')
  let closing: Promise<void> | undefined
  const end = (signal: NodeJS.Signals): Promise<void> => {
    closing ??= (async () => {
      signalGroup(child.pid!, signal)
      await gone
      const deadline = performance.now() + STOP_MS
      while (signalGroup(child.pid!, performance.now() < deadline ? 0 : 'SIGKILL')) await new Promise(resolve => { setTimeout(resolve, 20) })
      await rm(scratch, { recursive: true, force: true })
    })()
    return closing
  }
  const close = (): Promise<void> => end('SIGTERM')
  t.teardown(close)

  const origin = `http://127.0.0.1:${port}`
  const deadline = performance.now() + DEADLINE_MS
  while (!await fetch(`${origin}/healthz`).then(({ ok }) => ok, () => false)) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`wrangler dev does not answer:\n${said}`)
    await new Promise(resolve => { setTimeout(resolve, 50) })
  }
  return { origin, close, kill: () => end('SIGKILL') }
}
