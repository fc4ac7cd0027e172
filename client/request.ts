import { request as plain, type IncomingMessage } from 'node:http'
import { request as secure } from 'node:https'
import type { Settings } from './settings'

/** No answer of ours is longer than a page of 64 KiB and what stands around it. */
const MAX_BYTES = 1_048_576

export interface Ask {
  method?: 'GET' | 'POST'
  /** Without a slash before it. */
  path: string
  query?: Record<string, string | number | undefined>
  body?: object
  headers?: Record<string, string>
  /** How long it may take in all, in milliseconds. */
  ms: number
  /** Ends it before its time. */
  signal?: AbortSignal
}

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
  /** The body where it is JSON. */
  json: unknown
}

function open ({ base, token }: Settings, { method = 'GET', path, query = {}, body, headers = {}, signal }: Ask) {
  const url = new URL(path, base)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  const text = body === undefined ? undefined : JSON.stringify(body)
  const sent = (url.protocol === 'https:' ? secure : plain)(url, {
    method,
    agent: false,
    ...(signal !== undefined && { signal }),
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    }
  })
  sent.end(text)
  return sent
}

/** Asks the server once, and reads the whole answer. Redirections are not followed: the token is for one server. */
export function ask (settings: Settings, what: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = open(settings, what)
    const timer = setTimeout(() => { sent.destroy(new Error(`no answer within ${what.ms} ms`)) }, what.ms)
    const fail = (err: Error): void => { clearTimeout(timer); reject(err) }
    sent.on('error', fail)
    // Whatever else an answer may be, such as another protocol, it is over with its connection.
    const noAnswer = (): void => { fail(new Error('the connection was closed without an answer')) }
    sent.on('close', noAnswer)
    sent.on('response', response => {
      sent.off('close', noAnswer)
      const pieces: Buffer[] = []
      let size = 0
      response.on('data', (piece: Buffer) => {
        size += piece.length
        if (size > MAX_BYTES) sent.destroy(new Error('the answer is too long'))
        else pieces.push(piece)
      })
      response.on('error', fail)
      response.on('close', () => { if (!response.complete) fail(new Error('the answer was cut off')) })
      response.on('end', () => {
        clearTimeout(timer)
        const text = Buffer.concat(pieces).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) })
      })
    })
  })
}

export interface Streaming {
  status: number
  headers: IncomingMessage['headers']
  /** Begins to read; nothing of what comes before is lost. */
  read (): void
  /** Ends the connection. */
  end (): void
}

/** Opens an event stream; `onText` hears what comes, `onEnd` once that it is over. */
export function stream (settings: Settings, what: Ask, onText: (text: string) => void, onEnd: () => void): Promise<Streaming> {
  return new Promise((resolve, reject) => {
    const sent = open(settings, { ...what, headers: { ...what.headers, accept: 'text/event-stream' } })
    const timer = setTimeout(() => { sent.destroy(new Error(`no answer within ${what.ms} ms`)) }, what.ms)
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      onEnd()
    }
    const fail = (err: Error): void => { clearTimeout(timer); reject(err) }
    sent.on('error', fail)
    sent.on('close', () => { fail(new Error('the connection was closed without an answer')) })
    sent.on('response', response => {
      clearTimeout(timer)
      response.setEncoding('utf8')
      response.on('error', over)
      response.on('close', over)
      const { statusCode: status = 0, headers } = response
      if (status === 200 && !/^text\/event-stream\b/.test(headers['content-type'] ?? '')) {
        sent.destroy()
        return reject(new Error('what answers there is no event stream'))
      }
      resolve({ status, headers, read: () => { response.on('data', onText) }, end: () => { sent.destroy() } })
    })
  })
}

/** What to do about a refusal, in a sentence. */
export function refusal (status: number): string {
  switch (status) {
    case 401: return 'the token is not accepted (401): set READYROOM_AGENT_TOKEN to one that `readyroom admin add-token` has shown'
    case 403: return 'the token may not do this here (403): check READYROOM_ROOM, and what the token was made for'
    case 404: return 'there is no such room there (404), or its Ready Room is older than rooms'
    case 421: return 'the server does not answer to this name (421): use a name of READYROOM_ALLOWED_HOSTS in READYROOM_URL'
    case 429: return 'there were too many wrong tokens from here (429): wait, and mend READYROOM_AGENT_TOKEN'
    default: return `it answered ${status}`
  }
}

function parsed (text: string): unknown {
  try { return JSON.parse(text) } catch { return undefined }
}
