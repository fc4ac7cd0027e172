// Writes schemas/openapi.json: what the routes declare, gathered by @fastify/swagger, and what scripts/openapi-words.ts
// says of them. Made beforehand, so that no start pays for it and the Worker has it too.
//   npm run openapi
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import { ERRORS } from '../lib/errors'
import { MemoryTicketStore } from '../lib/memory-store'
import { SqliteRoomStore } from '../lib/node/room/sqlite-room-store'
import { RoomDesk } from '../lib/room/desk'
import readyroom from '../plugins/readyroom'
import { ErrorBodySchema } from '../schemas/error'
import { AuditEntrySchema } from '../schemas/event'
import { FileSchema, MessageSchema, RoomEventSchema, RoomInfoSchema, TaskViewSchema } from '../schemas/room'
import { TicketSchema, TicketViewSchema } from '../schemas/ticket'
import { WORDS, type Answer, type Words } from './openapi-words'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Route = Record<string, unknown>

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

const COMPONENTS: Record<string, Json> = {
  Ticket: plain(TicketSchema),
  TicketView: plain(TicketViewSchema),
  AuditEntry: plain(AuditEntrySchema),
  Error: plain(ErrorBodySchema),
  RoomEvent: plain(RoomEventSchema),
  RoomInfo: plain(RoomInfoSchema),
  Message: plain(MessageSchema),
  TaskView: plain(TaskViewSchema),
  File: plain(FileSchema)
}

/** The refusal with its codes, which stand in a table of their own. */
const withCodes = (schema: Json): Json => {
  const { properties, ...rest } = schema as Record<string, Record<string, object>>
  return plain({ ...rest, properties: { ...properties, error: { ...properties!['error'], enum: Object.keys(ERRORS) } } })
}

/** The schema with a reference wherever one of the named ones stands in it; `top` is not replaced itself. */
function refer (schema: Json, top?: string): Json {
  const name = Object.keys(COMPONENTS).find(name => name !== top && isDeepStrictEqual(schema, COMPONENTS[name]))
  if (name !== undefined) return { $ref: `${name}#` }
  if (Array.isArray(schema)) return schema.map(item => refer(item))
  if (schema === null || typeof schema !== 'object') return schema
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, refer(value)]))
}

/** An address as OpenAPI writes it. */
const pathOf = (url: string): string => url.replace(/^\/mcp\/\*$/, '/mcp/{stream}').replace(/:(\w+)(?:\([^)]*\))?/g, '{$1}').replace(/(.)\/$/, '$1')

const contentOf = ({ says, content }: Answer, declared: unknown): object => {
  const media = content ?? { 'application/json': declared }
  if (Object.keys(media).length === 0) return { type: 'null', description: says }
  return { description: says, content: Object.fromEntries(Object.entries(media).map(([type, schema]) => [type, { schema: refer(plain(schema)) }])) }
}

function describe (words: Words, { params, querystring, body, response = {} }: Route): object {
  const declared = response as Record<string, unknown>
  const refusals = Object.keys(declared).filter(status => /xx$/.test(status) && words.answers[status.toUpperCase()] === undefined)
  return {
    operationId: words.operationId,
    tags: [words.tag],
    summary: words.summary,
    ...(words.description !== undefined && { description: words.description }),
    ...(querystring !== undefined && { querystring: plain(querystring) }),
    ...((words.params ?? params) !== undefined && { params: plain(words.params ?? params) }),
    ...(words.headers !== undefined && { headers: plain(words.headers) }),
    ...((words.body ?? body) !== undefined && { body: refer(plain(words.body ?? body)) }),
    response: {
      ...Object.fromEntries(Object.entries(words.answers).map(([status, answer]) => [status, contentOf(answer, declared[status])])),
      ...Object.fromEntries(refusals.map(status =>
        [status.toUpperCase(), contentOf({ says: status === '4xx' ? 'A refusal: what was refused, why, and what to do' : 'A failure' }, declared[status])]))
    },
    // The second, empty one: where no token is set, the loopback is the access control.
    security: words.open ? [] : [{ bearer: [] }, {}]
  }
}

/** @throws Error naming a route that nobody has described, or a description of no route */
export async function createDocument (): Promise<Json> {
  const missing = new Set(Object.keys(WORDS))
  const app = Fastify()
  for (const [name, schema] of Object.entries(COMPONENTS)) {
    const named = refer(schema, name)
    app.addSchema({ $id: name, ...(name === 'Error' ? withCodes(named) : named) as object })
  }
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Ready Room',
        // Whoever serves it puts the release here.
        version: '0.0.0',
        description: 'The one interrupt channel between many coding agents and the person who answers for them.',
        license: { name: 'Unlicense', identifier: 'Unlicense' }
      },
      tags: [
        { name: 'tickets', description: 'What the heads-up page reads and settles' }, { name: 'agents', description: 'What agents call' },
        { name: 'rooms', description: 'What agents say to each other, for scripts and pages' },
        { name: 'page', description: 'What the person opens' }, { name: 'operations', description: 'What whoever runs it needs' }
      ],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'READYROOM_TOKEN, or a token of `readyroom admin`' } } }
    },
    refResolver: { buildLocalReference: json => String(json.$id) },
    transform ({ schema, url, route }) {
      if (route.method === 'HEAD' || (route.config as { refused?: boolean } | undefined)?.refused) return { schema: { hide: true }, url }
      const path = pathOf(url)
      const key = `${String(route.method)} ${path}`
      const words = WORDS[key]
      if (words === undefined) throw new Error(`scripts/openapi-words.ts has no words for ${key}`)
      missing.delete(key)
      return { schema: describe(words, { ...schema as object }), url: path }
    }
  })
  // The rooms are never opened: it is their addresses that count.
  const rooms = new RoomDesk({ store: new SqliteRoomStore('none') })
  await app.register(readyroom, { store: new MemoryTicketStore(), rooms, edge: { adminApi: true }, metrics: true, ownsNotFound: true })
  await app.ready()
  // Relative to this document, so that it holds under any prefix and behind any proxy; @fastify/swagger takes no such one.
  const servers = [{ url: '..', description: 'Where this document comes from' }]
  const document = plain({ ...app.swagger(), servers })
  await app.close()
  if (missing.size > 0) throw new Error(`scripts/openapi-words.ts has words for no route: ${[...missing].join(', ')}`)
  return document
}

if (import.meta.main) {
  const file = join(import.meta.dirname, '../schemas/openapi.json')
  writeFileSync(file, `${JSON.stringify(await createDocument(), null, 1)}\n`)
}
