import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BODY_LIMIT } from '../lib/bodies'
import type { Doors } from '../lib/doors'
import { ReadyroomError } from '../lib/errors'
import { readKey } from '../lib/idempotency'
import { exportText } from '../lib/room/export'
import { attentionIn, downloadHeaders, exportHeaders, moveCursor, reportAttention, unreadOf, uploadLimit, whoAmI } from '../lib/room/http'
import type { RoomDesk } from '../lib/room/desk'
import { ROOM_TOOLS, type RoomTool } from '../lib/room/tools'
import { NoQuerySchema } from '../schemas/api'
import {
  AttentionBodySchema, AttentionQuerySchema, AttentionSchema, CursorBodySchema, CursorSchema, DoneSchema, ExportQuerySchema, FileParamsSchema,
  FileQuerySchema, UnreadQuerySchema, UnreadSchema, WhoAmISchema
} from '../schemas/v1'
import { fromFastify, REFUSALS, sendError } from './errors'
import { goneSignal } from './gone'

export interface V1Options {
  doors: Doors
  rooms: RoomDesk
}

/** A tool at its address: the same arguments, the same result, the same refusals. */
function addTool (app: FastifyInstance, { doors, rooms }: V1Options, { name, scope, route, inputSchema, outputSchema }: RoomTool): void {
  const reads = route.method === 'GET'
  const limit = name === 'put_file' ? Math.max(BODY_LIMIT, uploadLimit(rooms.maxFileBytes)) : BODY_LIMIT
  app.route({
    method: route.method,
    url: route.path,
    config: { scope },
    bodyLimit: limit,
    // Nobody waits for the headers of an answer that a wait would hold up.
    exposeHeadRoute: reads && name !== 'wait_for_change',
    schema: {
      querystring: reads ? inputSchema : NoQuerySchema,
      ...(!reads && { body: inputSchema }),
      response: { 200: outputSchema, ...REFUSALS }
    },
    handler: async (request, reply) => {
      const principal = request.principal!
      const key = readKey(request.headers['idempotency-key']?.toString())
      const options = { principal, tickets: doors.deskOf(principal), signal: goneSignal(reply), key }
      const result = await rooms.call(name, reads ? request.query : request.body, options)
      // It may have been waited for, and the token revoked meanwhile.
      if (!doors.identity.isLive(principal)) throw new ReadyroomError('UNAUTHORIZED', 'The token was revoked while this was waited for.')
      return result
    },
    errorHandler: (err, request, reply) => {
      const error = fromFastify(err)
      sendError(error.code !== 'TOO_LARGE' ? error : new ReadyroomError('TOO_LARGE', `The body may have at most ${limit.toLocaleString('en-US')} bytes.`), request, reply)
    }
  })
}

/** The room over HTTP, for scripts and pages: its tools, and what only makes sense here. */
const v1: FastifyPluginAsyncTypebox<V1Options> = async function v1 (app, options) {
  const { rooms } = options
  for (const tool of ROOM_TOOLS) addTool(app, options, tool)
  const who = (request: FastifyRequest) => request.principal!

  app.get('/rooms', {
    config: { scope: 'room:read' },
    schema: { querystring: NoQuerySchema, response: { 200: WhoAmISchema, ...REFUSALS } }
  }, async request => whoAmI(rooms, who(request)))

  app.get('/unread', {
    config: { scope: 'room:read' },
    schema: { querystring: UnreadQuerySchema, response: { 200: UnreadSchema, ...REFUSALS } }
  }, async request => unreadOf(rooms, who(request), request.query))

  app.post('/cursor', {
    config: { scope: 'room:read' },
    schema: { body: CursorBodySchema, querystring: NoQuerySchema, response: { 200: CursorSchema, ...REFUSALS } }
  }, async request => moveCursor(rooms, who(request), request.body))

  app.get('/export', {
    config: { scope: 'room:read' },
    exposeHeadRoute: false,
    schema: { querystring: ExportQuerySchema, response: REFUSALS }
  }, async (request, reply) => {
    const principal = who(request)
    const { room, format = 'jsonl' } = request.query
    const head = await rooms.enter(principal, room)
    // A room that is not there is refused before anything is sent.
    await rooms.run('getRoomInfo', head, {})
    const pages = whileLive(exportText(rooms, head, format), () => options.doors.identity.isLive(principal))
    return reply.headers(exportHeaders(head.room, format)).send(Readable.from(pages) as never)
  })
  app.get('/attention', {
    config: { scope: 'room:read' },
    schema: { querystring: AttentionQuerySchema, response: { 200: AttentionSchema, ...REFUSALS } }
  }, async request => attentionIn(rooms, who(request), request.query))

  app.post('/attention', {
    config: { scope: 'room:read' },
    schema: { body: AttentionBodySchema, querystring: NoQuerySchema, response: { 200: DoneSchema, ...REFUSALS } }
  }, async request => reportAttention(rooms, who(request), request.body))

  // It is read whole before the first byte goes out: a file that expires meanwhile arrives complete.
  app.get('/files/:id', {
    config: { scope: 'room:read' },
    schema: { params: FileParamsSchema, querystring: FileQuerySchema, response: REFUSALS }
  }, async (request, reply) => {
    const head = await rooms.enter(who(request), request.query.room)
    const { file, content } = await rooms.run('readFile', head, { file_id: request.params.id })
    return reply.headers(downloadHeaders(file)).send(Buffer.from(content) as never)
  })
}

/** A token that is revoked meanwhile, or a failure, cuts the text off: whoever reads it sees that it did not end. */
async function * whileLive (pages: AsyncIterable<string>, isLive: () => boolean): AsyncGenerator<string> {
  for await (const page of pages) {
    if (!isLive()) throw new ReadyroomError('UNAUTHORIZED', 'The token was revoked while this was read.')
    yield page
  }
}

export default v1
