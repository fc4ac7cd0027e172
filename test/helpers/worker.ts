import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import type { QueueStatus } from '../../worker/queue-status'
import type { SettingsEnv } from '../../worker/settings'
import { ROOT } from './room'

const OFFLINE = { WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false' }
Object.assign(process.env, OFFLINE)

export interface Module { type: 'ESModule' | 'Text', path: string, contents: string }

/** What wrangler.toml says of the runtime, in as far as a test has to repeat it. */
async function runtimeOptions (): Promise<{ compatibilityDate: string, compatibilityFlags: string[] }> {
  const toml = await readFile(`${ROOT}wrangler.toml`, 'utf8')
  const compatibilityDate = /^compatibility_date = "(.+)"$/m.exec(toml)?.[1]
  const flags = /^compatibility_flags = (\[.*\])$/m.exec(toml)?.[1]
  if (compatibilityDate === undefined || flags === undefined) throw new Error('wrangler.toml names no compatibility date or flags')
  return { compatibilityDate, compatibilityFlags: JSON.parse(flags) as string[] }
}

let built: Promise<Module[]> | undefined

/** The Worker as it would be uploaded: what `wrangler deploy --dry-run` writes. Once for each process. */
export const buildWorker = (): Promise<Module[]> => {
  built ??= build()
  return built
}

async function build (): Promise<Module[]> {
  const out = await mkdtemp(join(tmpdir(), 'readyroom-worker-'))
  try {
    const wrangler = `${ROOT}node_modules/wrangler/bin/wrangler.js`
    await promisify(execFile)(process.execPath, [wrangler, 'deploy', '--dry-run', '--outdir', out], { cwd: ROOT })
    // The main module comes first.
    const names = (await readdir(out)).filter(name => /\.(?:js|html|txt)$/.test(name)).sort((a, b) => Number(b === 'index.js') - Number(a === 'index.js'))
    return await Promise.all(names.map(async path => ({
      type: path.endsWith('.js') ? 'ESModule' as const : 'Text' as const, path, contents: await readFile(join(out, path), 'utf8')
    })))
  } finally {
    await rm(out, { recursive: true, force: true })
  }
}

interface Teardown { teardown (close: () => unknown): void }

export interface WorkerOptions {
  env?: SettingsEnv
  /** Where its state is kept; left out, it is gone with the runtime. */
  persist?: string
  modules?: Module[]
  className?: string
  /** Whether it has rooms, as a deployment of this release has; a module of one object alone has none. */
  rooms?: boolean
  /** Of the runtime, beside those of wrangler.toml. */
  flags?: string[]
}

export interface RunningWorker {
  origin: string
  runtime: Miniflare
  /** How the queue stands, as the object itself says. It holds the object in memory from then on. */
  status (): Promise<QueueStatus>
  /** Resolves when exactly `count` calls wait. */
  untilWaiting (count: number, ms?: number): Promise<void>
  close (): Promise<void>
}

/** A token for tests that are not about one. */
export const TOKEN = 'the-token-of-every-other-test-0123456789'

/** The Worker in real workerd, on a free port of the loopback. */
export async function startWorker (t: Teardown, { env = {}, persist, modules, className = 'QueueObject', rooms = className === 'QueueObject', flags = [] }: WorkerOptions = {}): Promise<RunningWorker> {
  const { compatibilityDate, compatibilityFlags } = await runtimeOptions()
  const runtime = new Miniflare(convertV4MiniflareOptions({
    name: 'readyroom',
    host: '127.0.0.1',
    port: 0,
    unsafeInspectDurableObjects: true,
    modules: modules ?? await buildWorker(),
    compatibilityDate,
    compatibilityFlags: [...compatibilityFlags, ...flags],
    durableObjects: {
      QUEUE: { className, useSQLite: true },
      ...(rooms && { ROOM: { className: 'RoomObject', useSQLite: true }, REGISTRY: { className: 'RegistryObject', useSQLite: true } })
    },
    ...(persist !== undefined && { resourcePersistencePath: persist, durableObjectsPersist: persist }),
    bindings: Object.fromEntries(Object.entries({ READYROOM_TOKEN: TOKEN, ...env }).filter(([, value]) => value !== undefined))
  }))
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= runtime.dispose()
    return closing
  }
  t.teardown(close)
  const { origin } = await runtime.ready

  async function status (): Promise<QueueStatus> {
    const queue = await runtime.getDurableObjectNamespace('QUEUE')
    const stub = queue.get(queue.idFromName(env.READYROOM_QUEUE ?? 'queue')) as unknown as { status (): Promise<QueueStatus> }
    const { instance, pending, waiting, seq } = await stub.status()
    return { instance, pending, waiting, seq }
  }

  async function untilWaiting (count: number, ms = 8_000): Promise<void> {
    const deadline = performance.now() + ms
    for (;;) {
      const { waiting } = await status()
      if (waiting === count) return
      if (performance.now() > deadline) throw new Error(`${waiting} wait after ${ms} ms, not ${count}`)
    }
  }

  return { origin, runtime, status, untilWaiting, close }
}
