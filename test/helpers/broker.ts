import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Aedes, type AedesPublishPacket } from 'aedes'
import type { Test } from 'tap'

export interface Heard { topic: string, text: string, retain: boolean }

/** A broker on a free port, or on the one it had before, that keeps what it was told. */
export async function startBroker (t: Test, { port = 0, authenticate }: { port?: number, authenticate?: NonNullable<Aedes['authenticate']> } = {}) {
  const broker = await Aedes.createBroker({ ...(authenticate && { authenticate }) })
  const heard: Heard[] = []
  broker.on('publish', ({ topic, payload, retain }: AedesPublishPacket) => {
    if (!topic.startsWith('$SYS')) heard.push({ topic, text: payload.toString(), retain })
  })
  const sockets = new Set<Socket>()
  const server: Server = createServer(socket => {
    sockets.add(socket)
    broker.handle(socket)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  let closed = false
  async function stop (): Promise<void> {
    if (closed) return
    closed = true
    for (const socket of sockets) socket.destroy()
    await new Promise<void>(resolve => { broker.close(() => { server.close(() => { resolve() }) }) })
  }
  t.teardown(stop)
  return { heard, stop, cut () { for (const socket of sockets) socket.destroy() }, port: (server.address() as AddressInfo).port, events: () => heard.filter(({ topic }) => topic.startsWith('rr/ops/')) }
}
