import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'

export interface Question {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** Until what is asked for has come, in milliseconds. */
  timeoutMs: number
  /** `first`: an event stream, of which the first bytes are enough. */
  until?: 'end' | 'first'
}

export interface Reply { status: number, headers: IncomingHttpHeaders, body: string }

/** What is read of a body, in characters: a page is a little longer, and nobody looks at its end. */
const LIMIT = 200_000

/** Asks from outside, as a browser or a client would. @throws Error with a clause that says why there is no answer */
export function ask (url: string, { method = 'GET', headers = {}, body, timeoutMs, until = 'end' }: Question): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? requestHttps : requestHttp
    const req = request(url, {
      method,
      agent: false,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }) }
    })
    let got: Reply | undefined
    const end = (act: () => void): void => {
      clearTimeout(timer)
      act()
      req.destroy()
    }
    const timer = setTimeout(() => end(() => reject(new Error(got === undefined
      ? `no answer within ${timeoutMs / 1000} s`
      : `the answer began, and nothing of it came within ${timeoutMs / 1000} s`))), timeoutMs)
    req.on('error', err => end(() => reject(new Error(reasonOf(err), { cause: err }))))
    req.on('response', (res: IncomingMessage) => {
      const reply = got = { status: res.statusCode ?? 0, headers: res.headers, body: '' }
      res.setEncoding('utf8')
      res.on('data', (text: string) => {
        reply.body = (reply.body + text).slice(0, LIMIT)
        if (until === 'first' || reply.body.length === LIMIT) end(() => resolve(reply))
      })
      res.on('end', () => end(() => resolve(reply)))
      res.on('error', err => end(() => reject(new Error(reasonOf(err), { cause: err }))))
    })
    req.end(body)
  })
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'there is no machine of that name',
  EAI_AGAIN: 'the name cannot be looked up',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'there is no way to that machine',
  ENETUNREACH: 'there is no way to that machine',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself alone',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not known here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that is not known here, or a part of the chain is not sent',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that is not known here, or a part of the chain is not sent',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  EPROTO: 'it does not speak TLS there'
}

/** Whether it is the certificate that is wrong. */
export const isAboutTls = (err: unknown): boolean => /certificate|TLS/.test((err as Error).message)

function reasonOf (err: Error): string {
  // Each address of a name that was tried has failed for a reason of its own.
  const one = err instanceof AggregateError ? err.errors[0] as Error : err
  const { code = '' } = one as NodeJS.ErrnoException
  return REASONS[code] ?? `${one.message}${code === '' || one.message.includes(code) ? '' : ` (${code})`}`
}
