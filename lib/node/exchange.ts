import { type Agent, type IncomingHttpHeaders, request } from 'node:http'
import { networkInterfaces } from 'node:os'

/** The longest answer of a daemon that is read, in bytes: a full list_pending is about a third of it. */
const LIMIT = 16 * 1024 * 1024

/**
 * Why there was no answer. `refused`: nobody listens. `silent`: somebody does, but says nothing in time, as a stopped
 * process would. `broken`: the connection ended, or what came back is not a daemon's.
 */
export type LinkFailure = 'refused' | 'silent' | 'broken'

export class LinkError extends Error {
  override readonly name = 'LinkError'
  readonly failure: LinkFailure

  constructor (failure: LinkFailure, message: string, cause?: unknown) {
    super(message, { cause })
    this.failure = failure
  }
}

export interface Call {
  host: string
  port: number
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
  /** Until the answer is there in full, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | undefined
  agent?: Agent | undefined
}

export interface Answer { status: number, headers: IncomingHttpHeaders, body: string }

const REFUSED = new Set(['ECONNREFUSED', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENETUNREACH', 'EHOSTUNREACH', 'EINVAL'])

/** One call over HTTP. @throws LinkError when there is no answer; the reason of `signal` when it was aborted. */
export function exchange ({ host, port, method, path, headers, body, timeoutMs, signal, agent }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const req = request({
      host,
      port,
      method,
      path,
      agent,
      headers: {
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      }
    })
    const settle = (done: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      done()
    }
    const fail = (err: unknown): void => settle(() => {
      req.destroy()
      reject(err)
    })
    const onAbort = (): void => fail(signal!.reason)
    const timer = setTimeout(() => fail(new LinkError('silent', `no answer within ${timeoutMs} ms`)), timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })

    req.on('error', err => {
      const failure = REFUSED.has((err as NodeJS.ErrnoException).code ?? '') ? 'refused' : 'broken'
      fail(new LinkError(failure, err.message, err))
    })
    req.on('response', res => {
      const chunks: Buffer[] = []
      let size = 0
      res.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size > LIMIT) fail(new LinkError('broken', `an answer of over ${LIMIT} bytes`))
      })
      res.on('error', err => fail(new LinkError('broken', err.message, err)))
      res.on('end', () => settle(() => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString('utf8') })
      }))
      res.on('close', () => { if (!res.complete) fail(new LinkError('broken', 'the answer ended half-way')) })
    })
    req.end(body)
  })
}

const WILDCARDS = new Set(['0.0.0.0', '::', '[::]', ''])

/** Where a daemon of this machine may listen, the likely first. Its own choice is not written down anywhere. */
export function localHosts (bind: string): string[] {
  const hosts = new Set(WILDCARDS.has(bind) ? [] : [bind.replace(/^\[(.*)\]$/, '$1')])
  for (const host of ['127.0.0.1', '::1']) hosts.add(host)
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address, scopeid } of addresses ?? []) if (!scopeid) hosts.add(address)
  }
  return [...hosts]
}

/**
 * Tries `call` on every address of this machine until one answers. An address that is merely silent is not passed over.
 * @throws LinkError of the most telling kind: `refused` only when nobody listens on any.
 */
export async function onThisMachine<T> (bind: string, call: (host: string) => Promise<T>): Promise<T> {
  let telling = new LinkError('refused', 'nobody listens on this machine')
  for (const host of localHosts(bind)) {
    try {
      return await call(host)
    } catch (err) {
      if (!(err instanceof LinkError) || err.failure === 'silent') throw err
      if (err.failure === 'broken') telling = err
    }
  }
  throw telling
}
