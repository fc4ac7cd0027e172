import type { ErrorBody } from '../schemas/error'
import type { Ticket } from '../schemas/ticket'

/**
 * Every failure by code, and what it is on each transport. `tool`: a tool result with `isError`, which the agent reads
 * and acts on. `http`: never reaches a tool. `never`: handled inside. A number: a JSON-RPC error.
 */
export const ERRORS = {
  BAD_REQUEST: { status: 400, mcp: 'tool' },
  UNAUTHORIZED: { status: 401, mcp: 'tool' },
  FORBIDDEN_SCOPE: { status: 403, mcp: 'tool' },
  FORBIDDEN_ORIGIN: { status: 403, mcp: 'http' },
  FORBIDDEN_HOST: { status: 421, mcp: 'http' },
  NOT_FOUND: { status: 404, mcp: 'http' },
  METHOD_NOT_ALLOWED: { status: 405, mcp: 'http' },
  TICKET_NOT_FOUND: { status: 404, mcp: 'tool' },
  TICKET_SETTLED: { status: 409, mcp: 'tool' },
  NOT_YOUR_TICKET: { status: 403, mcp: 'tool' },
  UNDO_WINDOW_PASSED: { status: 409, mcp: 'tool' },
  STALE_WRITE: { status: 409, mcp: 'never' },
  TOO_LARGE: { status: 413, mcp: 'http' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, mcp: 'http' },
  TOO_MANY_REQUESTS: { status: 429, mcp: 'http' },
  QUEUE_FULL: { status: 429, mcp: 'tool' },
  STORE_UNAVAILABLE: { status: 503, mcp: 'tool' },
  ROOM_NOT_FOUND: { status: 404, mcp: 'tool' },
  FORBIDDEN_ROOM: { status: 403, mcp: 'tool' },
  MESSAGE_NOT_FOUND: { status: 404, mcp: 'tool' },
  TASK_NOT_FOUND: { status: 404, mcp: 'tool' },
  TASK_NOT_OWNED: { status: 409, mcp: 'tool' },
  TASK_NOT_READY: { status: 409, mcp: 'tool' },
  TASK_CHANGED: { status: 409, mcp: 'tool' },
  FILE_NOT_FOUND: { status: 404, mcp: 'tool' },
  ROOM_FULL: { status: 429, mcp: 'tool' },
  INTERNAL: { status: 500, mcp: -32603 }
} as const satisfies Record<string, { status: number, mcp: number | 'tool' | 'http' | 'never' }>

export type ErrorCode = keyof typeof ERRORS

export interface ReadyroomErrorOptions {
  cause?: unknown
  /** The ticket as it now is, for a refusal that depends on its state. */
  ticket?: Ticket | undefined
  /** Response headers that belong to the refusal, such as `Allow` and `Retry-After`. */
  headers?: Record<string, string>
}

/** A failure that was foreseen. `code` is for machines and never changes; `message` is a sentence for whoever reads it. */
export class ReadyroomError extends Error {
  override readonly name = 'ReadyroomError'
  readonly code: ErrorCode
  readonly ticket: Ticket | undefined
  readonly headers: Record<string, string>

  constructor (code: ErrorCode, message: string, { cause, ticket, headers = {} }: ReadyroomErrorOptions = {}) {
    super(message, { cause })
    this.code = code
    this.ticket = ticket
    this.headers = headers
  }
}

/** What nobody named becomes INTERNAL; its own text is kept as the cause, for the log, and reaches no caller. */
export function toReadyroomError (err: unknown): ReadyroomError {
  if (err instanceof ReadyroomError) return err
  return new ReadyroomError('INTERNAL', 'Something went wrong inside Ready Room. The log on its standard error says what.', { cause: err })
}

/** Status, headers and body of a failure over HTTP. */
export function toHttp (err: unknown): { status: number, headers: Record<string, string>, body: ErrorBody } {
  const { code, message, ticket, headers } = toReadyroomError(err)
  return { status: ERRORS[code].status, headers, body: { error: code, message, ...(ticket && { ticket }) } }
}

/** The refusal that another Ready Room sent, as an error again. Anything else is INTERNAL. */
export function fromBody (body: unknown): ReadyroomError {
  const { error, message, ticket } = (body ?? {}) as Partial<ErrorBody>
  if (typeof error === 'string' && Object.hasOwn(ERRORS, error) && typeof message === 'string') {
    return new ReadyroomError(error as ErrorCode, message, { ticket })
  }
  return toReadyroomError(new Error(`Not a Ready Room error: ${JSON.stringify(body)?.slice(0, 200)}`))
}
