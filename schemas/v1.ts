import Type, { type Static, type TSchema } from 'typebox'
import { ActorKindSchema, RoomEventSchema, RoomIdSchema, RoomInfoSchema, RoomNameSchema } from './room'

// What `/v1` takes and gives beside the tools of the room.

const closed = <P extends Record<string, TSchema>>(properties: P) => Type.Object(properties, { additionalProperties: false })
const Room = Type.Optional(RoomNameSchema)

export const UnreadQuerySchema = closed({
  room: Room,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'How many events to show at most; the count is exact all the same' })),
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'Only what came after this event, for whoever has seen the rest; the count, too' }))
})
export const UnreadSchema = closed({
  room: Type.String(),
  agent: Type.String({ description: 'Whose cursor it is' }),
  unread: Type.Integer({ minimum: 0 }),
  through: Type.Integer({ description: 'Commit this as the cursor once the events are shown' }),
  events: Type.Array(RoomEventSchema, { description: 'The first of them, at most 64 KiB' }),
  more: Type.Optional(Type.Literal(true)),
  untrusted: Type.String({ description: 'How to read the texts in here' })
})

export const CursorBodySchema = closed({ room: Room, through: Type.Integer({ minimum: 0, description: 'The id of the last event that was shown' }) })
export const CursorSchema = closed({ room: Type.String(), through: Type.Integer({ description: 'Where the cursor is now: never behind where it was' }) })

export const StreamQuerySchema = closed({
  room: Room,
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'Begin after this event; Last-Event-ID goes before it. Without both, begin now' }))
})

export const ExportQuerySchema = closed({
  room: Room,
  format: Type.Optional(Type.Unsafe<'jsonl' | 'md'>({ type: 'string', enum: ['jsonl', 'md'], description: 'JSON Lines, unless it says md' }))
})

export const FileParamsSchema = closed({ id: RoomIdSchema })
export const FileQuerySchema = closed({ room: Room })

export const WhoAmISchema = closed({
  name: Type.String(),
  kind: ActorKindSchema,
  scopes: Type.Array(Type.String()),
  home: Type.String(),
  rooms: Type.Array(RoomInfoSchema, { description: 'Those that the credential has a grant for' })
})

const Count = Type.Integer({ minimum: 0 })

export const AttentionBodySchema = closed({
  room: Room,
  kind: Type.Unsafe<'wake' | 'inject'>({ type: 'string', enum: ['wake', 'inject'], description: 'A line that woke you, or a turn that something was put into' }),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 }))
})
export const DoneSchema = closed({ done: Type.Literal(true) })
export const AttentionQuerySchema = closed({ room: Room, days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90, description: '7 where left out' })) })
/** What attention cost, a day (UTC), newest first. */
export const AttentionSchema = closed({
  room: Type.String(),
  budget: Type.Integer({ description: 'How often one agent may call another on one day before it no longer wakes' }),
  agents: Type.Array(closed({ day: Type.String(), agent: Type.String(), wakeups: Count, injections: Count })),
  pairs: Type.Array(closed({
    day: Type.String(), caller: Type.String(), called: Type.String(), count: Count, over: Type.Integer({ minimum: 0, description: 'Of these, how many woke nobody' })
  }))
})

export type Attention = Static<typeof AttentionSchema>
const ScriptSchema = closed({ version: Type.String(), sha256: Type.String(), url: Type.String() })
export const ClientInfoSchema = closed({
  server: closed({ name: Type.String(), version: Type.String() }),
  scripts: closed({ hook: ScriptSchema, watch: ScriptSchema })
})

export type Unread = Static<typeof UnreadSchema>
export type WhoAmI = Static<typeof WhoAmISchema>
