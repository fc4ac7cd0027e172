import type { TSchema } from 'typebox'
import Value from 'typebox/value'
import { ERRORS, type ErrorCode } from '../../lib/errors'
import { AuditPageSchema, HistoryPageSchema, TicketListSchema, TicketSchema } from '../../schemas/api'
import { ErrorBodySchema, type ErrorBody } from '../../schemas/error'
import { DaemonStatusSchema, IdentitySchema, JoinReplySchema, ProveReplySchema, ToolReplySchema } from '../../schemas/internal'
import type { Reply } from './wire'

// What may be answered, whatever was asked: the contract's statuses and shapes, and nothing that is secret.

/** What a success of each address looks like; of the others only that it is none of a failure's. */
const SHAPES: Record<string, TSchema> = {
  'GET /api/tickets': TicketListSchema,
  'GET /api/history': HistoryPageSchema,
  'GET /api/audit': AuditPageSchema,
  'POST /api/answer': TicketSchema,
  'POST /api/undo': TicketSchema,
  'POST /internal/prove': ProveReplySchema,
  'POST /internal/tool-call': ToolReplySchema,
  'GET /internal/identity': IdentitySchema,
  'GET /internal/status': DaemonStatusSchema,
  'GET /internal/join': JoinReplySchema
}

export interface Asked { method: string, path: string }

/** The JSON-RPC messages in an answer of /mcp, whether one body or a stream of events. @throws Error where it is none. */
export function messagesIn ({ headers, body }: Reply): unknown[] {
  const text = body.toString('utf8')
  if (!headers['content-type']?.startsWith('text/event-stream')) return text === '' ? [] : [JSON.parse(text)]
  return text.split('\n').filter(line => line.startsWith('data: ')).map(line => JSON.parse(line.slice(6)) as unknown)
}

interface Message { jsonrpc?: unknown, id?: unknown, method?: unknown, result?: unknown, error?: { code?: unknown, message?: unknown } }

/** What is wrong with a JSON-RPC message, or undefined. */
function faultOfMessage (message: unknown): string | undefined {
  const { jsonrpc, id, method, result, error } = message as Message
  if (jsonrpc !== '2.0') return 'is not JSON-RPC 2.0'
  if (typeof method === 'string') return undefined
  if (id !== null && typeof id !== 'string' && typeof id !== 'number') return 'has no id'
  if (result !== undefined) return typeof result === 'object' && result !== null ? undefined : 'has a result that is none'
  if (!Number.isInteger(error?.code) || typeof error?.message !== 'string') return 'is neither a result nor an error'
  return error.code === -32603 ? 'is an internal error' : undefined
}

function faultOfRefusal (body: unknown, status: number): string | undefined {
  if (!Value.Check(ErrorBodySchema, body)) return 'is no error body'
  const { error } = body as ErrorBody
  return Object.hasOwn(ERRORS, error) && ERRORS[error as ErrorCode].status === status ? undefined : `says ${error} with status ${status}`
}

/** What is wrong with a reply, as the end of a sentence, or undefined. `asked` is unknown where the bytes were spoilt. */
export function faultOf (reply: Reply, asked: Asked | undefined, secrets: readonly string[]): string | undefined {
  const { status, headers, body, isBare } = reply
  const text = body.toString('utf8')
  if (status >= 500) return `has status ${status}`
  for (const secret of secrets) if (text.includes(secret) || Object.values(headers).some(value => String(value).includes(secret))) return 'holds a secret'
  if (isBare || status === 304) return text === '' ? undefined : 'has a body'
  const isMcp = asked === undefined || asked.path.startsWith('/mcp')
  try {
    if (status >= 400) {
      const value: unknown = JSON.parse(text)
      return isMcp && 'jsonrpc' in (value as object) ? faultOfMessage(value) : faultOfRefusal(value, status)
    }
    if (status === 202) return text === '' && isMcp ? undefined : 'has a body, or is out of place'
    if (status !== 200) return `has status ${status}`
    if (asked?.path.startsWith('/mcp')) return messagesIn(reply).map(faultOfMessage).find(fault => fault !== undefined)
    const shape = asked === undefined ? undefined : SHAPES[`${asked.method} ${asked.path.split('?')[0]}`]
    return shape === undefined || Value.Check(shape, JSON.parse(text)) ? undefined : 'has not the shape of this address'
  } catch (err) {
    return `cannot be read (${(err as Error).message})`
  }
}
