import { setTimeout as delay } from 'node:timers/promises'
import type { Daemon } from './daemon'
import type { Sockets } from './sockets'

export interface Scene {
  daemon: Daemon
  sockets: Sockets
  /** How many connections, or how much of it. */
  count: number
  /** Aborts when the attack is over. */
  over: AbortSignal
}

/** What is done to a daemon while somebody else works with it. Resolves with a remark when it is over, or has done its worst. */
export type Attack = (scene: Scene) => Promise<string>

const LIMIT = 1_048_576

const head = ({ daemon }: Scene, method: string, path: string, fields: Record<string, string | number> = {}): string =>
  `${method} ${path} HTTP/1.1\r\n${Object.entries({ host: `127.0.0.1:${daemon.port}`, origin: daemon.origin, ...fields }).map(([name, value]) => `${name}: ${value}\r\n`).join('')}`

const post = (scene: Scene, length: number): string => `${head(scene, 'POST', '/mcp/agent', { 'content-type': 'application/json', 'content-length': length })}\r\n`

const rest = async ({ over }: Scene): Promise<void> => { if (!over.aborted) await new Promise(resolve => over.addEventListener('abort', resolve, { once: true })) }

/** Writes the same again and again, a little each time, until it is over. */
async function drip ({ sockets, over }: Scene, part: string, ms = 100): Promise<void> {
  while (!over.aborted) {
    for (const socket of sockets.open) socket.write(part)
    await delay(ms, undefined, { signal: over }).catch(() => {})
  }
}

/** Opens the connections of an attack and writes what each begins with. */
async function begin ({ sockets, count }: Scene, text: string, options: { deaf?: boolean } = {}): Promise<string> {
  const made = await sockets.addMany(count, options)
  for (const socket of made) socket.write(text, 'latin1')
  return `${made.length} connections`
}

/** Again and again the same, over new connections, so many at once. */
async function again ({ sockets, count, over }: Scene, text: string | Buffer): Promise<string> {
  let sent = 0
  await Promise.all(Array.from({ length: count }, async () => {
    while (!over.aborted) {
      const socket = await sockets.add()
      if (socket === undefined) return
      const closed = new Promise<void>(resolve => { socket.once('close', () => resolve()) })
      socket.end(text)
      sent++
      await Promise.race([closed, new Promise(resolve => over.addEventListener('abort', resolve, { once: true }))])
    }
  }))
  return `${sent} times`
}

export const ATTACKS: Record<string, Attack> = {
  async 'idle connections' (scene) {
    const made = await begin(scene, '')
    await rest(scene)
    return made
  },
  async 'headers that never end, a byte at a time' (scene) {
    const made = await begin(scene, head(scene, 'GET', '/api/tickets'))
    await drip(scene, 'x')
    return made
  },
  async 'bodies a byte at a time' (scene) {
    const made = await begin(scene, post(scene, LIMIT))
    await drip(scene, ' ')
    return made
  },
  async 'bodies that stop half way' (scene) {
    const made = await begin(scene, post(scene, LIMIT) + '{"a":"'.padEnd(60_000, 'x'))
    await rest(scene)
    return made
  },
  async 'readers of the events that read nothing' (scene) {
    const made = await begin(scene, `${head(scene, 'GET', '/api/events', { 'last-event-id': 0 })}\r\n`, { deaf: true })
    await rest(scene)
    return made
  },
  'header floods': scene => again(scene, `${head(scene, 'GET', '/healthz')}${'a: b\r\n'.repeat(2_000)}connection: close\r\n\r\n`),
  'headers past their limit': scene => again(scene, `${head(scene, 'GET', '/healthz')}x: ${'y'.repeat(200_000)}\r\n\r\n`),
  'bodies past their limit': scene => again(scene, Buffer.concat([Buffer.from(post(scene, 50 * LIMIT)), Buffer.alloc(4 * LIMIT, ' ')])),
  'bodies of the limit, deep as can be': scene => again(scene, post(scene, LIMIT) + '['.repeat(LIMIT)),
  async 'pipelines whose answers nobody reads' (scene) {
    const made = await begin(scene, '', { deaf: true })
    const text = `${head(scene, 'GET', '/')}\r\n`.repeat(50)
    while (!scene.over.aborted) {
      for (const socket of scene.sockets.open) if (!socket.writableNeedDrain) socket.write(text)
      await delay(50, undefined, { signal: scene.over }).catch(() => {})
    }
    return made
  }
}
