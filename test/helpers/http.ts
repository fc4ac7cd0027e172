import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'

/** How long a test waits for what must come, in milliseconds. */
export const DEADLINE_MS = 10_000

export interface Ask {
  method?: string
  headers?: OutgoingHttpHeaders
  body?: string | Uint8Array
}

/** One request over a connection of its own. Unlike `fetch` it sends any Host and Origin that it is told. */
export async function ask (origin: string, path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Response> {
  const request = httpRequest(new URL(path, origin), { method, headers, agent: false, signal: AbortSignal.timeout(DEADLINE_MS) })
  request.end(body)
  const [response] = await once(request, 'response') as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const fields = new Headers()
  for (let i = 0; i < response.rawHeaders.length; i += 2) fields.append(response.rawHeaders[i]!, response.rawHeaders[i + 1]!)
  const status = response.statusCode!
  const empty = status === 204 || status === 304 || method === 'HEAD'
  return new Response(empty ? null : Buffer.concat(chunks), { status, headers: fields })
}

/** Sends bytes as they are and reads until the other side ends. */
export async function raw (port: number, text: string): Promise<string> {
  const socket: Socket = connect({ host: '127.0.0.1', port })
  socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error('No end of the answer in time')))
  socket.setEncoding('latin1')
  await once(socket, 'connect')
  socket.write(text, 'latin1')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}
