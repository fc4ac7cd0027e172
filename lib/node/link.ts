import { Agent, request } from 'node:http'
import { fromBody } from '../errors'
import { isLoopbackAddress } from '../origin'
import { parse } from '../validate'
import type { Static, TSchema } from 'typebox'
import { ProveReplySchema, type ProveReply } from '../../schemas/internal'
import type { DaemonFile } from './daemon-file'
import { exchange, LinkError, onThisMachine } from './exchange'
import { callKey, equalProofs, newNonce, proofOf, responseTag, seal } from './proof'

export const NONCE_HEADER = 'x-readyroom-nonce'
export const TAG_HEADER = 'x-readyroom-tag'
export const CREDENTIAL = 'Readyroom'

export interface CallOptions {
  /** Until the answer is there, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | undefined
}

export interface Attachment {
  /** Why the daemon says it will end, where it says so. */
  readonly farewell: string | undefined
  /** Resolves when the daemon has gone, however it went, or when we detached. */
  readonly ended: Promise<void>
  detach (): void
}

/** A daemon that has proved itself, and how to call it. */
export class Link {
  readonly host: string
  readonly file: DaemonFile
  readonly daemon: ProveReply
  readonly #agent = new Agent({ keepAlive: true })

  constructor (host: string, file: DaemonFile, daemon: ProveReply) {
    this.host = host
    this.file = file
    this.daemon = daemon
  }

  /**
   * Whatever listens on the port that daemon.json names must prove that it knows the secret there. Nothing that is worth
   * stealing is sent before.
   * @throws LinkError when nobody answers, or somebody else does.
   */
  static prove (file: DaemonFile, bind: string, options: CallOptions): Promise<Link> {
    return onThisMachine(file.bind !== undefined && isLoopbackAddress(file.bind) ? file.bind : bind, async host => {
      const nonce = newNonce()
      const body = JSON.stringify({ nonce })
      const answer = await exchange({ host, port: file.port, method: 'POST', path: '/internal/prove', body, ...options })
      const reply = answer.status === 200 ? read(ProveReplySchema, answer.body) : undefined
      if (reply === undefined || reply.instance !== file.instance || reply.port !== file.port ||
        !equalProofs(reply.proof, proofOf(file.secret, nonce, reply.instance, reply.port))) {
        throw new LinkError('broken', `what answers on port ${file.port} could not prove that it is the Ready Room of daemon.json`)
      }
      return new Link(host, file, reply)
    })
  }

  /**
   * A call whose answer is known to be the daemon's, so that its shape is what the protocol says. What is asked can be read
   * by the daemon alone: somebody else may have the port by now, and an agent's token is in it.
   * @throws LinkError when there is none; ReadyroomError when the daemon refused.
   */
  async call<T> (method: 'GET' | 'POST', path: string, body: object | undefined, options: CallOptions): Promise<T> {
    const nonce = newNonce()
    const answer = await exchange({
      host: this.host,
      port: this.file.port,
      method,
      path,
      headers: this.#headers(nonce),
      ...(body !== undefined && { body: JSON.stringify({ sealed: seal(this.file.secret, 'request', JSON.stringify(body)) }) }),
      agent: this.#agent,
      ...options
    })
    const tag = answer.headers[TAG_HEADER]
    if (typeof tag !== 'string' || !equalProofs(tag, responseTag(this.file.secret, nonce, path, answer.status, answer.body))) {
      throw new LinkError('broken', `the answer from port ${this.file.port} is not the daemon's`)
    }
    const reply: unknown = JSON.parse(answer.body)
    if (answer.status !== 200) throw fromBody(reply)
    return reply as T
  }

  /**
   * Opens the stream that tells either side, through the kernel, when the other has gone.
   * @throws LinkError
   */
  attach (pid: number, version: string, { timeoutMs }: { timeoutMs: number }): Promise<Attachment> {
    const nonce = newNonce()
    const path = `/internal/attach?pid=${pid}&version=${encodeURIComponent(version)}`
    return new Promise((resolve, reject) => {
      const req = request({ host: this.host, port: this.file.port, path, headers: this.#headers(nonce), agent: false })
      const fail = (message: string, cause?: unknown): void => {
        clearTimeout(timer)
        req.destroy()
        reject(new LinkError('broken', message, cause))
      }
      const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs)
      const ended = new Promise<void>(resolve => req.once('close', resolve))
      req.on('error', err => fail(err.message, err))
      req.on('response', res => {
        const tag = res.headers[TAG_HEADER]
        if (res.statusCode !== 200 || typeof tag !== 'string' || !equalProofs(tag, responseTag(this.file.secret, nonce, path, 200, ''))) {
          return fail(`the answer from port ${this.file.port} is not the daemon's`)
        }
        clearTimeout(timer)
        let said = ''
        res.setEncoding('utf8')
        // The little that a daemon says before it goes; it is never more than a word.
        res.on('data', (text: string) => { said = (said + text).slice(-100) })
        res.on('error', () => {})
        resolve({
          get farewell () { return said.trim() || undefined },
          ended,
          detach: () => { req.destroy() }
        })
      })
      req.end()
    })
  }

  close (): void {
    this.#agent.destroy()
  }

  #headers (nonce: string): Record<string, string> {
    return { authorization: `${CREDENTIAL} ${callKey(this.file.secret)}`, [NONCE_HEADER]: nonce }
  }
}

/** The reply, or undefined where it is not one. */
function read<const S extends TSchema> (schema: S, body: string): Static<S> | undefined {
  try { return parse(schema, JSON.parse(body), 'The answer') } catch { return undefined }
}
