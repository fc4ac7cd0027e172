import { ERRORS, ReadyroomError, type ErrorCode } from '../errors'
import { boundedText } from './bounded-text'

/** The longest answer that is read: a full list_pending is about a third of it. */
const MAX_BYTES = 16 * 1_048_576

/** No answer that counts. `reached`: the call may have got there, and may have been done. */
export class LostError extends Error {
  override readonly name = 'LostError'
  readonly reached: boolean

  constructor (message: string, reached: boolean, cause?: unknown) {
    super(message, { cause })
    this.reached = reached
  }
}

/** An answer that trying again does not change. The message is a sentence for the agent. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError'
}

export interface Endpoint {
  /** Of the Ready Room, without a slash at the end. */
  url: string
  /** Behind the address: /mcp, or /mcp/{stream}. */
  path: string
  token: string | undefined
}

export interface AskOptions {
  /** Until the answer is there in full, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | undefined
  /** Of a call that may be sent again, and is done once. */
  key?: string | undefined
  /** Hears what time it is there, in milliseconds since 1970, with each answer that says so. */
  onTime?: ((now: number) => void) | undefined
}

/** The connection was never made: nothing can have been done. */
const NOT_MADE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT'])

/** What proxies say for a server that is away, or is just starting. */
const AWAY = new Set([408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 530])

/**
 * One request of MCP's stateless form: no session is opened, and none is needed. Origin is the one that the guard of
 * every Ready Room knows as its own.
 * @throws LostError where it may be tried again. @throws RefusalError. @throws INTERNAL. @throws the reason of `signal`
 */
export async function askElsewhere (
  { url, path, token }: Endpoint, method: string, params: object, { timeoutMs, signal, key, onTime }: AskOptions
): Promise<object> {
  signal?.throwIfAborted()
  const time = AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs)))
  let response: Response
  let text: string
  try {
    response = await fetch(url + path, {
      method: 'POST',
      // A credential goes where it was meant to go.
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        origin: new URL(url).origin,
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(token !== undefined && { authorization: `Bearer ${token}` })
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: signal === undefined ? time : AbortSignal.any([signal, time])
    })
    text = await boundedText(response, MAX_BYTES)
  } catch (err) {
    signal?.throwIfAborted()
    throw lost(err, time.aborted, timeoutMs)
  }
  const now = Date.parse(response.headers.get('date') ?? '')
  if (Number.isFinite(now)) onTime?.(now)
  return read(url, response, text)
}

function lost (err: unknown, isLate: boolean, timeoutMs: number): LostError {
  if (isLate) return new LostError(`no answer within ${Math.round(timeoutMs / 1_000)} s`, true, err)
  const { cause } = err as Error & { cause?: NodeJS.ErrnoException }
  return new LostError(cause?.message || cause?.code || (err as Error).message, !NOT_MADE.has(cause?.code ?? ''), err)
}

interface Reply { result?: object, error?: { code?: number, message?: string } | string, message?: string }

function read (url: string, response: Response, text: string): object {
  const { status } = response
  const reply = parsed(text)
  const { error } = reply ?? {}
  if (status === 200 && typeof reply?.result === 'object' && reply.result !== null) return reply.result
  if (status === 200 && typeof error === 'object') {
    const message = error.message ?? 'An error without a message.'
    throw error.code === ERRORS.INTERNAL.mcp ? new ReadyroomError('INTERNAL', message) : new RefusalError(message)
  }
  const said = typeof error === 'string' && Object.hasOwn(ERRORS, error) ? { code: error as ErrorCode, message: reply?.message ?? '' } : undefined
  if (said === undefined && AWAY.has(status)) throw new LostError(`it answered ${status}`, true)
  if (said?.code === 'STORE_UNAVAILABLE') throw new LostError(said.message, true)
  throw new RefusalError(sentence(url, status, said?.message, response.headers.get('location')))
}

/** What whoever set this up must do. */
function sentence (url: string, status: number, message: string | undefined, location: string | null): string {
  const said = message === undefined ? '' : ` It said: ${message}`
  switch (status) {
    case 401: return `The Ready Room at ${url} does not accept this token (401): set READYROOM_AGENT_TOKEN to one that \`readyroom admin add-token\` has made there.`
    case 403: return `The Ready Room at ${url} does not let this call in (403): set READYROOM_URL to an address that it knows as its own, or list that in READYROOM_ALLOWED_ORIGINS there.${said}`
    case 421: return `The Ready Room at ${url} does not answer to that name (421): set READYROOM_URL to a name that it answers to, or list this one in READYROOM_ALLOWED_HOSTS there.`
    case 429: return `The Ready Room at ${url} has had too many wrong tokens from here (429): mend READYROOM_AGENT_TOKEN, and wait a few minutes.`
    case 404: case 405: case 501: return `There is no Ready Room at ${url} (${status}): check READYROOM_URL, the path in it too.`
    default:
      if (location !== null) return `The address ${url} leads elsewhere (${status}, ${location.slice(0, 200)}): set READYROOM_URL to where the Ready Room itself is.`
      return message ?? `What answers at ${url} is no Ready Room (${status}): check READYROOM_URL, and whether something in front asks for a login.`
  }
}

function parsed (text: string): Reply | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch { return undefined }
}
