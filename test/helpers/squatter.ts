import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Teardown { teardown (close: () => unknown): void }

export interface Squatter {
  port: number
  server: Server
  /** What it was sent, headers and body. */
  heard: Array<{ url: string, headers: IncomingMessage['headers'], body: string }>
  close (): Promise<void>
}

/** A program on the port that answers every call as `answer` says, whatever it pretends to be. */
export async function squat (
  t: Teardown, port: number, answer: (url: string, body: string) => { status?: number, headers?: Record<string, string>, body: string } | undefined
): Promise<Squatter> {
  const heard: Squatter['heard'] = []
  const server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const url = req.url ?? ''
    heard.push({ url, headers: req.headers, body })
    const said = answer(url, body)
    if (said !== undefined) res.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers }).end(said.body)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  t.teardown(close)
  return { port: (server.address() as AddressInfo).port, server, heard, close }
}
