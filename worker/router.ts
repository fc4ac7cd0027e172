import { judge, BODY_LIMIT } from '../lib/bodies'
import type { Desk } from '../lib/desk'
import type { Doors } from '../lib/doors'
import { ReadyroomError } from '../lib/errors'
import { readKey } from '../lib/idempotency'
import type { McpLog } from '../lib/mcp'
import { createMcpHttp, opened } from '../lib/mcp-http'
import { auditPage, HISTORY_PAGE } from '../lib/pages'
import { may, type Principal } from '../lib/principal'
import { PrincipalDesk } from '../lib/principal-desk'
import { uploadLimit } from '../lib/room/http'
import { knownOf } from '../lib/room/ticket-watch'
import { isTokenShaped } from '../lib/room/token-book'
import { streamOf } from '../lib/stream-path'
import { bearerOf } from '../lib/token'
import type { TicketInRoom } from '../schemas/api'
import type { Ticket } from '../schemas/ticket'
import { AnswerBodySchema, AuditQuerySchema, HistoryQuerySchema, NoQuerySchema, TicketParamsSchema, UndoBodySchema } from '../schemas/api'
import { readBody, readBytes, readQuery } from './request-body'
import { createRoutes, json, type Handler, type Route, type RoutesLog } from './routes'
import type { Settings } from './settings'
import { V1, v1Handlers, type Door, type For } from './v1'

export interface RouterOptions {
  desk: Desk
  version: string
  /** Who somebody is, and what is theirs. */
  doors: Doors
  settings: Settings
  log: RoutesLog & McpLog
  /** The longest wait, in milliseconds. Unset means that of the contract. */
  maxWaitMs?: number | undefined
}

export const API: readonly Door[] = [
  { method: 'get', path: '/api/tickets', scope: 'tickets:read' },
  { method: 'get', path: '/api/tickets/:id', scope: 'tickets:read' },
  { method: 'get', path: '/api/history', scope: 'tickets:read' },
  // The whole record, of every room.
  { method: 'get', path: '/api/audit', scope: 'server:admin' },
  { method: 'post', path: '/api/answer', scope: 'tickets:answer' },
  { method: 'post', path: '/api/undo', scope: 'tickets:answer' }
]

/** With the stream behind it, or without. */
export const AGENTS: readonly Door[] = [{ method: 'post', path: '/mcp/*' }]

/** Doors by their address, each with its methods: what the entry guards and the queue answers. */
export function addresses (doors: readonly Door[], handle: (door: Door) => Handler): Route[] {
  const routes = new Map<string, Route>()
  for (const door of doors) {
    const { method, path, noHead = false, says } = door
    routes.set(path, { path, ...routes.get(path), [method]: handle(door), ...(noHead && { noHead }), ...(says !== undefined && { says }) })
  }
  return [...routes.values()]
}

/** What stands behind `/mcp/`, as it came. */
const tailOf = ({ url }: Request): string => new URL(url).pathname.slice('/mcp/'.length)

/** The tickets, the rooms and MCP: what needs the desks. Host and Origin are checked before, and whatever can be no credential is stopped there. */
export function createRouter ({ desk, version, doors, settings, log, maxWaitMs }: RouterOptions): { fetch (request: Request): Promise<Response> } {
  const answerMcp = createMcpHttp({ desk, version, maxWaitMs, log })
  const { identity, rooms } = doors
  const deskOf = (principal: Principal): PrincipalDesk => new PrincipalDesk(desk, principal)

  /** Tokens are learnt with the first one that is shown: without any, no room wakes. */
  async function principalOf ({ headers }: Request): Promise<Principal> {
    const authorization = headers.get('authorization')
    if (isTokenShaped(bearerOf(authorization) ?? '')) await rooms?.open()
    return identity.ofRequest(authorization, () => {})
  }

  /** What the rooms know of tickets. Where a ticket is in a room there are rooms, whoever asks first. */
  async function known (tickets: readonly Ticket[]): Promise<Record<string, TicketInRoom>> {
    const onFailure = (err: unknown): void => { log.warn({ err }, 'The rooms cannot be read; tickets are shown without what became of their answers') }
    if (tickets.some(({ room }) => room !== undefined)) await rooms?.open().catch(onFailure)
    return knownOf(rooms, tickets, onFailure)
  }

  const handlers = new Map<string, For>(rooms === undefined ? [] : v1Handlers({ doors, rooms, settings, version, log }))
  const tickets: Record<string, For> = {
    async 'GET /api/tickets' (request, principal) {
      readQuery(request, NoQuerySchema)
      const { tickets, now } = await deskOf(principal).list()
      const more = await known(tickets)
      return json({ tickets: tickets.map(ticket => ({ ...ticket, ...more[ticket.id] })), now })
    },

    async 'GET /api/tickets/:id' (request, principal) {
      const { id } = judge(TicketParamsSchema, { id: decodeURIComponent(request.params['id']!) }, 'params')
      readQuery(request, NoQuerySchema)
      const ticket = await deskOf(principal).get(id)
      return json({ ...ticket, ...(await known([ticket]))[id] })
    },

    async 'GET /api/history' (request, principal) {
      const { before, limit = HISTORY_PAGE } = readQuery(request, HistoryQuerySchema)
      return json(await deskOf(principal).history(before, limit))
    },

    async 'GET /api/audit' (request) {
      const { after, limit } = readQuery(request, AuditQuerySchema)
      return json(await auditPage(desk, after, limit))
    },

    async 'POST /api/answer' (request, principal) {
      const { id, answer, answered_by: label } = await readBody(request, AnswerBodySchema)
      readQuery(request, NoQuerySchema)
      return json(await deskOf(principal).answer(id, answer, label))
    },

    async 'POST /api/undo' (request, principal) {
      const { id } = await readBody(request, UndoBodySchema)
      readQuery(request, NoQuerySchema)
      return json(await deskOf(principal).undo(id))
    },

    async 'POST /mcp/*' (request, principal) {
      const isOwner = principal.kind === 'owner'
      const stream = streamOf(tailOf(request)) ?? (isOwner ? undefined : principal.name)
      // Only whoever has the room's tools puts files into it.
      const limit = isOwner || rooms === undefined ? BODY_LIMIT : Math.max(BODY_LIMIT, uploadLimit(rooms.maxFileBytes))
      const receipt = doors.receiptFor(principal)
      const { status, headers, body } = await answerMcp({
        url: request.url,
        header: name => request.headers.get(name) ?? undefined,
        body: await readBytes(request, limit),
        stream,
        caller: doors.callerOf(principal, stream, { receipt, key: readKey(request.headers.get('idempotency-key') ?? undefined) }),
        signal: request.signal
      })
      /** After the response was handed over, which does not wait for what is kept of it. Not where nobody is there to take it. */
      const written = (): void => { setTimeout(() => { if (!request.signal.aborted) receipt?.written() }, 0) }
      if (body instanceof ReadableStream) return new Response(opened(body, written), { status, headers })
      written()
      return new Response(body, { status, headers })
    }
  }
  for (const [name, handle] of Object.entries(tickets)) handlers.set(name, handle)

  const handle = ({ method, path, scope }: Door): Handler => async request => {
    const principal = await principalOf(request)
    if (scope !== undefined && !may(principal, scope)) {
      throw new ReadyroomError('FORBIDDEN_SCOPE', `This needs the scope ${scope}, which the token of ${principal.name} (${principal.kind}) does not have.`)
    }
    return handlers.get(`${method.toUpperCase()} ${path}`)!(request, principal)
  }
  return createRoutes(addresses([...API, ...rooms === undefined ? [] : V1, ...AGENTS], handle), { log })
}
