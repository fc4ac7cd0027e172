import type { Test } from 'tap'
import type { ErrorBody } from '../../schemas/error'
import type { Ticket } from '../../schemas/ticket'
import type { OriginPolicy } from '../../lib/origin'

export interface OpenOptions { token?: string, originPolicy?: OriginPolicy, allowedOrigins?: string[] }

export interface Init { method?: string, headers?: Record<string, string | string[]>, body?: string | Uint8Array<ArrayBuffer> }

/** One running Ready Room, as a client sees it. */
export interface OpenTarget {
  /** Its own origin, which every request below is sent to unless it says otherwise. */
  origin: string
  request (path: string, init?: Init): Promise<Response>
}

export interface HttpTarget {
  name: string
  /** A Ready Room without tickets, gone with the test. */
  open (t: Test, options?: OpenOptions): Promise<OpenTarget>
  /** Whether its loopback is the access control where no token is set. */
  loopback: boolean
  /** Whether its runtime tells an Origin header that is empty, which no browser sends, from none. */
  seesEmptyOrigin: boolean
}

export const JSON_TYPE = { 'content-type': 'application/json' }

export const post = (body: unknown, headers: Record<string, string> = {}): Init =>
  ({ method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) })

export const json = async <T> (response: Response | Promise<Response>): Promise<T> => (await response).json() as Promise<T>

/** Enqueues over MCP, as an agent does. */
export async function enqueue (to: OpenTarget, args: object = {}, headers: Record<string, string> = {}): Promise<Ticket> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'Ship it?', ...args } } }
  const response = await to.request('/mcp/agent', post(call, { accept: 'application/json', origin: to.origin, ...headers }))
  const { result } = await json<{ result: { isError?: boolean, content: [{ text: string }], structuredContent: { id: string } } }>(response)
  if (result.isError) throw new Error(result.content[0].text)
  return json<Ticket>(to.request(`/api/tickets/${result.structuredContent.id}`, { headers }))
}

/** Asserts a refusal whole: status, code, one sentence, and nothing else in the body. */
export async function refused (t: Test, answer: Response | Promise<Response>, status: number, code: string, says?: RegExp): Promise<Response> {
  const response = await answer
  const body = await json<ErrorBody>(response)
  const { ticket, ...rest } = body
  t.equal(response.status, status, body.message)
  t.match(response.headers.get('content-type'), /^application\/json/)
  t.strictSame(Object.keys(rest).sort(), ['error', 'message'])
  t.equal(body.error, code, body.message)
  if (says !== undefined) t.match(body.message, says)
  return response
}
