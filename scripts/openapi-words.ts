import Type, { type TSchema } from 'typebox'
import { ROOM_TOOLS } from '../lib/room/tools'
import type { AdminName } from '../schemas/admin'
import { ErrorBodySchema } from '../schemas/error'

// What the OpenAPI document says of each address beyond what its route declares. A route without words, and words without
// a route, keep the document from being written.

/** What one status answers with: a sentence, and where the route declares no JSON of its own, what comes. */
export interface Answer { says: string, content?: Record<string, TSchema> }

export interface Words {
  operationId: string
  tag: 'page' | 'tickets' | 'agents' | 'rooms' | 'operations'
  summary: string
  description?: string
  params?: TSchema
  headers?: TSchema
  body?: TSchema
  answers: Record<string, Answer>
  /** No credential is needed, whether a token is set or not. */
  open?: true
}

const text = Type.String()

const Rpc = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
  method: Type.String(),
  params: Type.Optional(Type.Object({}))
}, { description: 'One JSON-RPC message' })

const RpcReply = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([Type.String(), Type.Integer(), Type.Null()]),
  result: Type.Optional(Type.Object({})),
  error: Type.Optional(Type.Object({ code: Type.Integer(), message: Type.String() }))
}, { description: 'The JSON-RPC answer; a refused tool call is a result with isError' })

/** For whatever changes something: a call that is sent again changes it once. */
const keyed = Type.Object({
  'idempotency-key': Type.Optional(Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'The same key, from the same caller, with the same arguments is the same call for a day: it has the result of the first. For ask_human a UUID of version 7'
  }))
})

const ticket: Answer = { says: 'The ticket as it now is' }

const agents = {
  tag: 'agents',
  description: 'Streamable HTTP of the Model Context Protocol: the revisions up to 2025-11-25, and 2026-07-28. There is no session. An Origin header of this ' +
    'Ready Room is asked for, unless the policy is spec.',
  headers: keyed,
  body: Rpc,
  answers: {
    200: { says: 'The answer, or a stream of events that ends with it', content: { 'application/json': RpcReply, 'text/event-stream': text } },
    202: { says: 'A notification was taken', content: {} },
    400: { says: 'Not a message that can be taken', content: { 'application/json': Type.Union([RpcReply, ErrorBodySchema]) } },
    '4XX': { says: 'Refused before it was read', content: { 'application/json': ErrorBodySchema } },
    '5XX': { says: 'A failure', content: { 'application/json': ErrorBodySchema } }
  }
} as const satisfies Partial<Words>

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** A tool says the same of itself here as to an agent. */
const tools = Object.fromEntries(ROOM_TOOLS.map(({ name, title, description, route }): [string, Words] => [
  `${route.method} /v1${route.path}`,
  {
    operationId: camel(name),
    tag: 'rooms',
    summary: title,
    description,
    ...(route.method === 'POST' && { headers: keyed }),
    answers: { 200: { says: 'What the tool gives' } }
  }
]))

const ADMIN_WORDS: Record<Exclude<AdminName, 'backup'>, string> = {
  init: 'From now on nobody is let in without a credential',
  'add-room': 'Makes a room',
  'add-token': 'Mints a token, which is shown this once',
  list: 'Rooms and tokens; no token itself',
  revoke: 'Ends the tokens of an agent, or one of them, and all that they have open',
  purge: 'Forgets revoked tokens',
  retention: 'Sets for how many days a room keeps its chat, events and files',
  'delete-room': 'Deletes a room and all that is in it',
  alias: 'Lets an agent be called by another name in a room',
  export: 'A page of all that a room holds'
}

const administration = Object.fromEntries(Object.entries(ADMIN_WORDS).map(([name, summary]): [string, Words] => [
  `POST /v1/admin/${name}`,
  {
    operationId: `admin${camel(`_${name.replace('-', '_')}`)}`,
    tag: 'rooms',
    summary,
    description: 'Only where READYROOM_ADMIN_API is on; 404 elsewhere. Needs the scope server:admin, and a bearer even where the loopback is open.',
    answers: { 200: { says: 'What became of it' } }
  }
]))

const setup: Record<string, Words> = {
  'GET /v1/admin/posture': {
    operationId: 'adminPosture',
    tag: 'rooms',
    summary: 'How this Ready Room stands towards whoever might come',
    description: 'For the admin page. Off and guarded as the rest of the administration.',
    answers: { 200: { says: 'The settings that guard it; no secret' } }
  },
  'GET /v1/admin/setup-text': {
    operationId: 'adminSetupText',
    tag: 'rooms',
    summary: 'How the holder of a token is set up',
    description: 'For the admin page. A placeholder stands where the token goes. Off and guarded as the rest of the administration.',
    answers: { 200: { says: 'The texts' } }
  }
}

/** By method and path, the path as OpenAPI writes it. */
export const WORDS: Record<string, Words> = {
  'GET /': {
    operationId: 'getPage',
    tag: 'page',
    summary: 'The heads-up page',
    open: true,
    answers: {
      200: { says: 'The page', content: { 'text/html': text } },
      '4XX': { says: 'A refusal', content: { 'application/json': ErrorBodySchema } }
    }
  },
  'GET /ui': {
    operationId: 'getRoomPage',
    tag: 'page',
    summary: 'The room as a person sees it',
    description: '404 where READYROOM_ENABLE_UI is off, and for whoever does not come from this machine or the network around it, unless READYROOM_CONSOLE_LAN_ONLY is off.',
    open: true,
    answers: {
      200: { says: 'The page', content: { 'text/html': text } },
      '4XX': { says: 'A refusal', content: { 'application/json': ErrorBodySchema } }
    }
  },
  'GET /admin': {
    operationId: 'getAdminPage',
    tag: 'page',
    summary: 'Where identity and rooms are administered',
    description: '404 unless READYROOM_ADMIN_API is on, and for whoever does not come from this machine or the network around it, unless READYROOM_CONSOLE_LAN_ONLY is off.',
    open: true,
    answers: {
      200: { says: 'The page', content: { 'text/html': text } },
      '4XX': { says: 'A refusal', content: { 'application/json': ErrorBodySchema } }
    }
  },
  'GET /healthz': {
    operationId: 'getHealth',
    tag: 'operations',
    summary: 'Whether it is there',
    open: true,
    answers: { 200: { says: 'It is. The header x-readyroom names release and instance', content: { 'text/plain': text } } }
  },
  'GET /metrics': {
    operationId: 'getMetrics',
    tag: 'operations',
    summary: 'Numbers for Prometheus',
    description: 'Only where READYROOM_METRICS is on; 404 elsewhere, and on the Worker.',
    answers: { 200: { says: 'The text format of Prometheus', content: { 'text/plain': text } } }
  },
  'GET /api/openapi.json': {
    operationId: 'getDescription', tag: 'operations', summary: 'This document', answers: { 200: { says: 'The document' } }
  },
  'GET /api/tickets': {
    operationId: 'listTickets',
    tag: 'tickets',
    summary: 'What the page shows',
    description: 'Pending tickets, and those settled in the last five minutes. A context over 4,096 characters is cut and marked.',
    answers: { 200: { says: 'The tickets, and the server\'s clock' } }
  },
  'GET /api/tickets/{id}': { operationId: 'getTicket', tag: 'tickets', summary: 'One ticket, whole', answers: { 200: ticket } },
  'GET /api/history': {
    operationId: 'getHistory',
    tag: 'tickets',
    summary: 'Settled tickets, newest first',
    answers: { 200: { says: 'A page; next is the before of the following one, and absent on the last' } }
  },
  'GET /api/audit': {
    operationId: 'getAudit',
    tag: 'tickets',
    summary: 'Entries of the audit log, in order',
    description: 'For export and backup. A page may hold fewer entries than were asked for; the log ends with an empty one.',
    answers: { 200: { says: 'A page' } }
  },
  'GET /api/events': {
    operationId: 'getEvents',
    tag: 'tickets',
    summary: 'Changes of tickets, as server-sent events',
    description: 'Event ticket, data the ticket, id the seq of the audit log; Last-Event-ID goes on from there. Event reset: read the list anew.',
    answers: {
      200: { says: 'The stream', content: { 'text/event-stream': text } },
      501: { says: 'There is none on the Worker: poll the list', content: { 'text/plain': text } }
    }
  },
  'POST /api/answer': {
    operationId: 'answerTicket',
    tag: 'tickets',
    summary: 'Settles a ticket with a person\'s answer',
    description: 'TICKET_SETTLED carries the ticket as somebody else has settled it.',
    answers: { 200: ticket }
  },
  'POST /api/undo': {
    operationId: 'undoAnswer',
    tag: 'tickets',
    summary: 'Takes a person\'s answer back, within five minutes',
    description: 'TICKET_SETTLED and UNDO_WINDOW_PASSED carry the ticket.',
    answers: { 200: ticket }
  },
  'POST /mcp': { ...agents, operationId: 'callMcp', summary: 'MCP, without a stream: each ask_human names its own' },
  'POST /mcp/{stream}': {
    ...agents,
    operationId: 'callMcpOfStream',
    summary: 'MCP for the agent that the address names',
    params: Type.Object({ stream: Type.String({ minLength: 1, maxLength: 100, description: 'Which agent asks, percent-encoded' }) })
  },
  ...tools,
  ...administration,
  ...setup,
  'GET /v1/rooms': {
    operationId: 'getWhoAmI', tag: 'rooms', summary: 'Who the credential makes one, and the rooms it opens', answers: { 200: { says: 'Name, kind, scopes and rooms' } }
  },
  'GET /v1/stream': {
    operationId: 'streamRoom',
    tag: 'rooms',
    summary: 'What happens in a room, as server-sent events',
    description: 'Event the kind, data the event, id its number in the log of the room; Last-Event-ID or since goes on from there, and without both it begins now. ' +
      'Event reset: the log does not reach that far. Event room_deleted: the last one.',
    answers: {
      200: { says: 'The stream', content: { 'text/event-stream': text } },
      501: { says: 'There is none on the Worker: poll /v1/unread', content: { 'text/plain': text } }
    }
  },
  'GET /v1/unread': {
    operationId: 'getUnread',
    tag: 'rooms',
    summary: 'How much is unread, and the first of it',
    description: 'Moves no cursor and renews no lease. Whoever shows the events commits `through` afterwards.',
    answers: { 200: { says: 'The count, and events' } }
  },
  'GET /v1/client': {
    operationId: 'getClientScripts',
    tag: 'rooms',
    summary: 'Which hook and watcher this server goes with',
    answers: { 200: { says: 'Versions, digests and addresses' } }
  },
  'GET /v1/hook': {
    operationId: 'downloadHook',
    tag: 'rooms',
    summary: 'The hook, one file for Node',
    description: 'Its version and SHA-256 are in x-readyroom-version and x-readyroom-sha256.',
    answers: { 200: { says: 'The file', content: { 'text/javascript': text } } }
  },
  'GET /v1/watch': {
    operationId: 'downloadWatcher',
    tag: 'rooms',
    summary: 'The watcher, one file for Node',
    description: 'Its version and SHA-256 are in x-readyroom-version and x-readyroom-sha256.',
    answers: { 200: { says: 'The file', content: { 'text/javascript': text } } }
  },
  'POST /v1/cursor': { operationId: 'moveCursor', tag: 'rooms', summary: 'Moves the cursor forward, never back', answers: { 200: { says: 'Where it is now' } } },
  'GET /v1/export': {
    operationId: 'exportRoom',
    tag: 'rooms',
    summary: 'All that a room holds: what it is, tasks, notes, names of files, messages, and its log',
    answers: { 200: { says: 'JSON Lines, or Markdown with format=md', content: { 'application/jsonl': text, 'text/markdown': text } } }
  },
  'GET /v1/attention': {
    operationId: 'getAttention', tag: 'rooms', summary: 'What attention cost, a day and agent, and who calls whom', answers: { 200: { says: 'Counts, newest day first' } }
  },
  'POST /v1/attention': {
    operationId: 'reportAttention', tag: 'rooms', summary: 'A watcher or a hook says what it has cost its agent', answers: { 200: { says: 'It is counted' } }
  },
  'GET /v1/files/{id}': {
    operationId: 'downloadFile', tag: 'rooms', summary: 'The bytes of a file', answers: { 200: { says: 'The bytes, to be kept and never shown', content: { 'application/octet-stream': text } } }
  }
}
