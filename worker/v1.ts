import { HOOK_VERSION } from '../client/versions'
import { BODY_LIMIT, judge } from '../lib/bodies'
import { clientInfo, HOOK_VERSION_HEADER, scriptHeaders, TELLING } from '../lib/client-scripts'
import type { Doors } from '../lib/doors'
import { ReadyroomError } from '../lib/errors'
import { readKey } from '../lib/idempotency'
import type { Principal, Scope } from '../lib/principal'
import { RoomAdmin } from '../lib/room/admin'
import type { RoomDesk } from '../lib/room/desk'
import { exportText } from '../lib/room/export'
import { attentionIn, downloadHeaders, exportHeaders, moveCursor, reportAttention, unreadOf, uploadLimit, whoAmI } from '../lib/room/http'
import { ROOM_TOOLS, type RoomTool } from '../lib/room/tools'
import { NoQuerySchema } from '../schemas/api'
import {
  AttentionBodySchema, AttentionQuerySchema, CursorBodySchema, ExportQuerySchema, FileParamsSchema, FileQuerySchema, StreamQuerySchema,
  UnreadQuerySchema
} from '../schemas/v1'
import { clientScripts } from './client-scripts'
import { textWhileLive } from './live-text'
import { readBody, readQuery } from './request-body'
import { json, type Routed, type RoutesLog } from './routes'
import type { Settings } from './settings'
import { adminHandlers, ADMINISTRATION } from './v1-admin'

/** A handler of somebody who has been let in and may. */
export type For = (request: Routed, principal: Principal) => Response | Promise<Response>

export interface Door {
  method: 'get' | 'post'
  path: string
  /** None: whoever is let in. */
  scope?: Scope
  noHead?: boolean
  /** Headers of whatever is answered there. */
  says?: Record<string, string>
}

/** A way to poll, for whoever asks for a stream, in seconds. */
const POLL_S = 15

const tool = ({ name, scope, route: { method, path } }: RoomTool): Door =>
  ({ method: method === 'GET' ? 'get' : 'post', path: `/v1${path}`, scope, ...(name === 'wait_for_change' && { noHead: true }) })

const reads = (path: string, noHead = false): Door => ({ method: 'get', path: `/v1${path}`, scope: 'room:read', ...(noHead && { noHead }) })

/** What a hook reads in the answers that it asks for anyway: which version goes with this server. */
const telling = (door: Door): Door => TELLING.has(door.path.slice('/v1'.length)) ? { ...door, says: { [HOOK_VERSION_HEADER]: HOOK_VERSION } } : door

/** Every address of the room. Which ones there are is all that the entry knows of them. */
export const V1: readonly Door[] = ([
  ...ROOM_TOOLS.map(tool),
  reads('/rooms'),
  reads('/unread'),
  { method: 'post', path: '/v1/cursor', scope: 'room:read' },
  reads('/export', true),
  reads('/attention'),
  { method: 'post', path: '/v1/attention', scope: 'room:read' },
  reads('/stream', true),
  reads('/files/:id'),
  ...['/hook', '/watch', '/client'].map(path => reads(path)),
  ...ADMINISTRATION
] satisfies Door[]).map(telling)

export interface V1Options {
  doors: Doors
  rooms: RoomDesk
  settings: Settings
  version: string
  log: RoutesLog
}

function callTool ({ doors, rooms }: V1Options, { name, route, inputSchema }: RoomTool): For {
  const limit = name === 'put_file' ? Math.max(BODY_LIMIT, uploadLimit(rooms.maxFileBytes)) : BODY_LIMIT
  return async (request, principal) => {
    let args: unknown
    if (route.method === 'GET') args = readQuery(request, inputSchema)
    else {
      args = await readBody(request, inputSchema, limit)
      readQuery(request, NoQuerySchema)
    }
    const key = readKey(request.headers.get('idempotency-key') ?? undefined)
    const result = await rooms.call(name, args, { principal, tickets: doors.deskOf(principal), signal: request.signal, key })
    // It may have been waited for, and the token revoked meanwhile.
    if (!doors.identity.isLive(principal)) throw new ReadyroomError('UNAUTHORIZED', 'The token was revoked while this was waited for.')
    return json(result)
  }
}

/** The room over HTTP: what plugins/v1 does on Node, by method and address. */
export function v1Handlers (options: V1Options): Map<string, For> {
  const { rooms, doors, version, settings, log } = options
  const handlers = adminHandlers({ admin: new RoomAdmin(rooms), settings, version, log })
  for (const tool of ROOM_TOOLS) handlers.set(`${tool.route.method} /v1${tool.route.path}`, callTool(options, tool))
  const others: Record<string, For> = {
    async 'GET /v1/rooms' (request, principal) {
      readQuery(request, NoQuerySchema)
      return json(await whoAmI(rooms, principal))
    },
    'GET /v1/unread': async (request, principal) => json(await unreadOf(rooms, principal, readQuery(request, UnreadQuerySchema))),
    async 'POST /v1/cursor' (request, principal) {
      const body = await readBody(request, CursorBodySchema)
      readQuery(request, NoQuerySchema)
      return json(await moveCursor(rooms, principal, body))
    },
    'GET /v1/attention': async (request, principal) => json(await attentionIn(rooms, principal, readQuery(request, AttentionQuerySchema))),
    async 'POST /v1/attention' (request, principal) {
      const body = await readBody(request, AttentionBodySchema)
      readQuery(request, NoQuerySchema)
      return json(await reportAttention(rooms, principal, body))
    },
    async 'GET /v1/export' (request, principal) {
      const { room, format = 'jsonl' } = readQuery(request, ExportQuerySchema)
      const head = await rooms.enter(principal, room)
      // A room that is not there is refused before anything is sent.
      await rooms.run('getRoomInfo', head, {})
      const body = textWhileLive(exportText(rooms, head, format), doors.identity, principal)
      return new Response(body, { headers: exportHeaders(head.room, format) })
    },
    'GET /v1/client' (request) {
      readQuery(request, NoQuerySchema)
      return json(clientInfo(version, clientScripts(), '/v1'))
    },
    /** A stream held open would keep the objects awake for every watcher, day and night. */
    async 'GET /v1/stream' (request, principal) {
      const { room } = readQuery(request, StreamQuerySchema)
      rooms.roomOf(principal, room)
      return new Response('No event stream here: poll GET /v1/unread.\n',
        { status: 501, headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': String(POLL_S) } })
    },
    async 'GET /v1/files/:id' (request, principal) {
      const { id } = judge(FileParamsSchema, { id: decodeURIComponent(request.params['id']!) }, 'params')
      const { room } = readQuery(request, FileQuerySchema)
      const head = await rooms.enter(principal, room)
      const { file, content } = await rooms.run('readFile', head, { file_id: id })
      return new Response(content as Uint8Array<ArrayBuffer>, { headers: downloadHeaders(file) })
    }
  }
  for (const name of ['hook', 'watch'] as const) {
    others[`GET /v1/${name}`] = request => {
      readQuery(request, NoQuerySchema)
      const script = clientScripts()[name]
      return new Response(script.text, { headers: scriptHeaders(script) })
    }
  }
  for (const [name, handle] of Object.entries(others)) handlers.set(name, handle)
  return handlers
}
