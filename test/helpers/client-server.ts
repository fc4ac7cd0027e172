import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Asked { method: string, path: string, query: Record<string, string>, headers: IncomingMessage['headers'], body: unknown }

export type Reply = (asked: Asked, response: ServerResponse) => void

/** What the server says of a room, event by event. */
export const happened = (id: number, more: object = {}): object =>
  ({ id, at: '2026-12-01T02:00:00.000Z', room: 'main', actor: 'beta', actor_kind: 'agent', kind: 'message_posted', message_id: id, body: `text ${id}`, ...more })

export const unread = (events: object[], more: object = {}): object =>
  ({ room: 'main', agent: 'alpha', unread: events.length, through: (events.at(-1) as { id: number } | undefined)?.id ?? 0, events, ...more })

export const sendJson = (response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** A server that answers as it is told to, and keeps what it was asked. */
export async function scripted (t: Test, reply: Reply) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const url = new URL(request.url!, 'http://x')
    const text = Buffer.concat(pieces).toString()
    const one: Asked = {
      method: request.method!, path: url.pathname, query: Object.fromEntries(url.searchParams), headers: request.headers, body: text === '' ? undefined : JSON.parse(text)
    }
    asked.push(one)
    reply(one, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths: () => asked.map(({ method, path }) => `${method} ${path}`) }
}
