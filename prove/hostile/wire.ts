import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Input } from './inputs'

export interface Reply {
  status: number
  headers: Record<string, string>
  body: Buffer
  /** To a HEAD, as far as could be seen: a body may be left out. */
  isBare?: boolean
}

/** What came back: replies, none, or something that could not be read. `left` where we hung up, so that more may have been on its way. */
export interface Exchange { replies: Reply[], left: boolean, silent: boolean, unreadable?: string }

/** How long an answer may take before it counts as none, in milliseconds; and how long one is waited for that may take minutes by right. */
const PATIENCE_MS = 20_000
const GLANCE_MS = 300

/** Whether an answer may rightly be a long time coming. */
const mayLast = (text: string): boolean => /wait_for_answer|subscriptions\/listen|\/api\/events|attach/.test(text)

const agent = new Agent({ keepAlive: true, maxSockets: 64 })
export const hangUp = (): void => agent.destroy()

/** Sends one input, ids put in, and reads what comes. Never rejects. */
export function exchange (port: number, input: Input): Promise<Exchange> {
  return input.kind === 'raw' ? raw(port, input.bytes) : structured(port, input)
}

function structured (port: number, { method, path, headers, body }: Extract<Input, { kind: 'http' }>): Promise<Exchange> {
  const patience = mayLast(path + String(body)) ? GLANCE_MS : PATIENCE_MS
  return new Promise(resolve => {
    const end = (exchange: Exchange): void => { clearTimeout(timer); resolve(exchange) }
    const asked = request({ host: '127.0.0.1', port, method, path: path.replace(/[^\x21-\x7e]/g, encodeURIComponent), headers, agent })
    let answer: IncomingMessage | undefined
    const chunks: Buffer[] = []
    const soFar = (): Reply[] => answer === undefined
      ? []
      : [{ status: answer.statusCode!, headers: answer.headers as Record<string, string>, body: Buffer.concat(chunks), isBare: method === 'HEAD' }]
    const timer = setTimeout(() => {
      end({ replies: soFar(), left: true, silent: patience === PATIENCE_MS })
      asked.destroy()
    }, patience)
    asked.on('error', err => end({ replies: soFar(), left: true, silent: false, unreadable: err.message }))
    asked.on('upgrade', (response, socket) => {
      socket.destroy()
      end({ replies: [{ status: response.statusCode!, headers: {}, body: Buffer.alloc(0) }], left: false, silent: false })
    })
    asked.on('response', response => {
      answer = response
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => end({ replies: soFar(), left: false, silent: false }))
      response.on('error', () => end({ replies: soFar(), left: true, silent: false }))
    })
    asked.end(body)
  })
}

/** Bytes as they are, and the end of them; whatever comes until the other side ends. */
export function raw (port: number, bytes: Buffer, patience = mayLast(bytes.toString('latin1')) ? GLANCE_MS : PATIENCE_MS): Promise<Exchange> {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    const chunks: Buffer[] = []
    let timedOut = false
    const timer = setTimeout(() => { timedOut = true; socket.destroy() }, patience)
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.once('connect', () => socket.end(bytes))
    socket.once('close', () => {
      clearTimeout(timer)
      const text = Buffer.concat(chunks)
      try {
        resolve({ replies: parse(text, /^\s*HEAD/.test(bytes.toString('latin1', 0, 20))), left: timedOut, silent: timedOut && patience === PATIENCE_MS })
      } catch (err) {
        const unreadable = `${(err as Error).message}: ${text.toString('latin1', 0, 200)}`
        resolve({ replies: [], left: true, silent: timedOut && patience === PATIENCE_MS, ...(!timedOut && { unreadable }) })
      }
    })
  })
}

/** The replies in a row of bytes (RFC 9112). @throws Error where they are none. */
export function parse (bytes: Buffer, isHead: boolean): Reply[] {
  const replies: Reply[] = []
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n')
    const [line = '', ...fields] = rest.subarray(0, end < 0 ? 0 : end).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? NaN)
    if (Number.isNaN(status)) throw new Error('This is no reply')
    const headers = Object.fromEntries(fields.map(field => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 1).trim()]))
    rest = rest.subarray(end + 4)
    // What could not be read as a request at all has a body all the same.
    const isBare = isHead && (rest.length === 0 || rest.indexOf('HTTP/1.1 ') === 0)
    if (status < 200 || status === 204 || status === 304 || isBare) {
      if (status >= 200) replies.push({ status, headers, body: Buffer.alloc(0), isBare })
    } else if (headers['transfer-encoding'] === 'chunked') {
      const { body, rest: after } = chunked(rest)
      replies.push({ status, headers, body })
      rest = after
    } else {
      const length = Number(headers['content-length'] ?? rest.length)
      replies.push({ status, headers, body: rest.subarray(0, length) })
      rest = rest.subarray(length)
    }
  }
  return replies
}

function chunked (bytes: Buffer): { body: Buffer, rest: Buffer } {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return { body: Buffer.concat(parts), rest: Buffer.alloc(0) }
    const size = parseInt(bytes.toString('latin1', at, end), 16)
    if (size === 0) return { body: Buffer.concat(parts), rest: bytes.subarray(end + 4) }
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
