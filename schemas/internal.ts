import Type, { type Static } from 'typebox'
import { AskHumanInputSchema, ListPendingOutputSchema } from './mcp'
import { TicketIdSchema, TicketSchema } from './ticket'

/**
 * How a client process hands a tool call to the daemon: POST /internal/tool-call. The client has resolved the stream
 * and minted the ticket's id, so that a call sent twice makes one ticket. A long wait is asked in slices.
 */
export const ToolCallSchema = Type.Object({
  tool: Type.Unsafe<'ask_human' | 'wait_for_answer' | 'list_pending' | 'cancel_ticket' | 'room' | 'whoami'>(
    { type: 'string', enum: ['ask_human', 'wait_for_answer', 'list_pending', 'cancel_ticket', 'room', 'whoami'] }),
  agent_token: Type.Optional(Type.String({ maxLength: 1_024, description: 'Whom the call is for, where agents have tokens' })),
  room_call: Type.Optional(Type.Object({
    name: Type.String({ maxLength: 100 }),
    args: Type.Unknown(),
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Of a call that may be sent again: it is done once' })),
    stream: Type.Optional(Type.String({ maxLength: 1_000, description: 'Tells agents apart that have no token' }))
  }, { additionalProperties: false })),
  id: Type.Optional(TicketIdSchema),
  wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 20_000 })),
  ask: Type.Optional(AskHumanInputSchema)
}, { additionalProperties: false })

/** The ticket; for list_pending the list, for a tool of the room its result. */
export const ToolReplySchema = Type.Object({
  ticket: Type.Optional(TicketSchema),
  pending: Type.Optional(ListPendingOutputSchema),
  room: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true })),
  whoami: Type.Optional(Type.Object({
    name: Type.String(),
    scopes: Type.Array(Type.String()),
    room_tools: Type.Array(Type.String())
  }, { additionalProperties: false }))
}, { additionalProperties: false })

/** What a client asks, for the daemon alone to read; see lib/node/proof. */
export const SealedBodySchema = Type.Object({ sealed: Type.String() }, { additionalProperties: false })

export const NonceSchema = Type.String({ minLength: 16, maxLength: 200 })

export const ProveBodySchema = Type.Object({ nonce: NonceSchema }, { additionalProperties: false })

/** POST /internal/prove: the proof is an HMAC under a secret that is never sent; see lib/node/proof. */
export const ProveReplySchema = Type.Object({
  instance: Type.String(),
  port: Type.Integer(),
  version: Type.String(),
  protocol: Type.Integer(),
  proof: Type.String()
})

/** GET /internal/identity: for a process of this machine that finds the port taken and shares no secret with its holder. */
export const IdentitySchema = Type.Object({
  readyroom: Type.Literal(true),
  version: Type.String(),
  protocol: Type.Integer(),
  instance: Type.String(),
  uid: Type.Integer({ description: 'The user that it runs as; -1 where the system has none' }),
  state_dir: Type.Optional(Type.String({ description: 'Left out where a token guards the daemon' }))
})

const ClientSchema = Type.Object({ pid: Type.Integer(), version: Type.String() }, { additionalProperties: false })

export const DaemonStatusSchema = Type.Object({
  pid: Type.Integer(),
  port: Type.Integer(),
  version: Type.String(),
  protocol: Type.Integer(),
  instance: Type.String(),
  started_at: Type.String(),
  state_dir: Type.String(),
  bind: Type.String(),
  token_set: Type.Boolean(),
  lingering: Type.Boolean({ description: 'Left behind by an agent for what is still pending' }),
  pending: Type.Integer(),
  waiting: Type.Integer({ description: 'Calls of wait_for_answer that are under way' }),
  pages: Type.Integer({ description: 'Event streams that are open' }),
  clients: Type.Array(ClientSchema),
  rooms: Type.Optional(Type.Object({
    rooms: Type.Integer(),
    tokens: Type.Integer({ description: 'That let somebody in' }),
    agents: Type.Integer({ description: 'That have a place in a room' }),
    wakeups: Type.Integer({ description: 'Lines that woke an agent, today' }),
    injections: Type.Integer({ description: 'Turns that something was put into, today' })
  }, { description: 'Where there are rooms, and they can be read' }))
})

/** GET /internal/join: what a client must know to tell whether it belongs here, and to take over later. */
export const JoinReplySchema = Type.Object({
  status: DaemonStatusSchema,
  token_tag: Type.String({ description: 'A keyed digest of the token: equal where the tokens are' }),
  sealed: Type.String({ description: 'The settings that a takeover keeps, encrypted' })
})

export const AttachQuerySchema = Type.Object({
  pid: Type.Integer({ minimum: 0 }),
  version: Type.String({ maxLength: 100 })
}, { additionalProperties: false })

export const HandOverBodySchema = Type.Object({
  version: Type.String({ maxLength: 100 }),
  protocol: Type.Integer({ minimum: 0 })
}, { additionalProperties: false })

export const DoneSchema = Type.Object({ done: Type.Literal(true) }, { additionalProperties: false })

export type ToolCall = Static<typeof ToolCallSchema>
export type ToolReply = Static<typeof ToolReplySchema>
export type ProveReply = Static<typeof ProveReplySchema>
export type Identity = Static<typeof IdentitySchema>
export type DaemonStatus = Static<typeof DaemonStatusSchema>
export type JoinReply = Static<typeof JoinReplySchema>
