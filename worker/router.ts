import { judge } from '../lib/bodies'
import type { Desk } from '../lib/desk'
import type { McpLog } from '../lib/mcp'
import { createMcpHttp, opened } from '../lib/mcp-http'
import { auditPage, HISTORY_PAGE } from '../lib/pages'
import type { Principal } from '../lib/principal'
import { streamOf } from '../lib/stream-path'
import { AnswerBodySchema, AuditQuerySchema, HistoryQuerySchema, NoQuerySchema, TicketParamsSchema, UndoBodySchema } from '../schemas/api'
import { readBody, readBytes, readQuery } from './request-body'
import { createRoutes, json, type Handler, type Route, type Routed, type RoutesLog } from './routes'

export interface RouterOptions {
  desk: Desk
  version: string
  /** Who acts: whoever may not is stopped by the entry. */
  principal: Principal
  log: RoutesLog & McpLog
  /** The longest wait, in milliseconds. Unset means that of the contract. */
  maxWaitMs?: number | undefined
}

/** An address of the queue, and the methods that it has. The entry guards these and no others. */
export interface Address { path: string, methods: ReadonlyArray<'get' | 'post'> }

export const API = {
  '/api/tickets': ['get'],
  '/api/tickets/:id': ['get'],
  '/api/history': ['get'],
  '/api/audit': ['get'],
  '/api/answer': ['post'],
  '/api/undo': ['post']
} as const satisfies Record<string, Address['methods']>

/** With the stream behind it, or without. */
export const AGENTS = { '/mcp/*': ['post'] } as const satisfies Record<string, Address['methods']>

/** What stands behind `/mcp/`, as it came. */
const tailOf = ({ url }: Request): string => new URL(url).pathname.slice('/mcp/'.length)

/** The tickets and MCP: what needs the desk. Host, Origin and credential are checked before. */
export function createRouter ({ desk, version, principal, log, maxWaitMs }: RouterOptions): { fetch (request: Request): Promise<Response> } {
  const answerMcp = createMcpHttp({ desk, version, maxWaitMs, log })

  const handlers: Record<keyof typeof API | keyof typeof AGENTS, Handler> = {
    async '/api/tickets' (request) {
      readQuery(request, NoQuerySchema)
      return json(await desk.list())
    },

    async '/api/tickets/:id' (request) {
      const { id } = judge(TicketParamsSchema, { id: decodeURIComponent(request.params['id']!) }, 'params')
      readQuery(request, NoQuerySchema)
      return json(await desk.get(id))
    },

    async '/api/history' (request) {
      const { before, limit = HISTORY_PAGE } = readQuery(request, HistoryQuerySchema)
      return json(await desk.history(before, limit))
    },

    async '/api/audit' (request) {
      const { after, limit } = readQuery(request, AuditQuerySchema)
      return json(await auditPage(desk, after, limit))
    },

    async '/api/answer' (request) {
      const { id, answer, answered_by: label } = await readBody(request, AnswerBodySchema)
      readQuery(request, NoQuerySchema)
      return json(await desk.answer(id, answer, principal, label))
    },

    async '/api/undo' (request) {
      const { id } = await readBody(request, UndoBodySchema)
      readQuery(request, NoQuerySchema)
      return json(await desk.undo(id, principal))
    },

    async '/mcp/*' (request) {
      const { status, headers, body } = await answerMcp({
        url: request.url,
        header: name => request.headers.get(name) ?? undefined,
        body: await readBytes(request),
        stream: streamOf(tailOf(request)),
        signal: request.signal
      })
      return new Response(body instanceof ReadableStream ? opened(body) : body, { status, headers })
    }
  }

  const routes = Object.entries({ ...API, ...AGENTS }).map(([path, methods]): Route => ({
    path,
    ...Object.fromEntries(methods.map(method => [method, (request: Routed) => handlers[path as keyof typeof handlers](request)]))
  }))
  return createRoutes(routes, { log })
}
