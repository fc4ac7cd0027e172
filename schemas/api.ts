import Type, { type Static } from 'typebox'
import { AuditEntrySchema } from './event'
import { AnswerSchema, TicketIdSchema, TicketSchema, TicketViewSchema } from './ticket'

export const AnswerBodySchema = Type.Object({
  id: TicketIdSchema,
  answer: AnswerSchema,
  answered_by: Type.Optional(Type.String({ maxLength: 80, description: 'A label for the person; kept in the audit log' }))
}, { additionalProperties: false })

export const UndoBodySchema = Type.Object({ id: TicketIdSchema }, { additionalProperties: false })

export const TicketParamsSchema = Type.Object({ id: TicketIdSchema })

/** A route without parameters refuses one, so that nobody believes it was heard; a token, above all, is never in an address. */
export const NoQuerySchema = Type.Object({}, { additionalProperties: false })

export const HistoryQuerySchema = Type.Object({
  before: Type.Optional(Type.Integer({ minimum: 1, description: 'The `next` of the page before' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 }))
}, { additionalProperties: false })

export const AuditQuerySchema = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, description: 'The last seq that the reader has' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 }))
}, { additionalProperties: false })

/** How far one revision of a ticket has come on its way to the agent that asked. Times are ISO 8601, UTC, milliseconds. */
export const DeliverySchema = Type.Object({
  rev: Type.Integer({ minimum: 1 }),
  saved_at: Type.String({ description: 'It was durable' }),
  delivered_at: Type.Optional(Type.String({ description: 'A response to the agent that carried it was written' })),
  read_at: Type.Optional(Type.String({ description: 'The agent made a later MCP call' }))
}, { additionalProperties: false })

const inRoom = {
  delivery: Type.Optional(Type.Object(DeliverySchema.properties, { additionalProperties: false, description: 'What became of the newest revision, where the agent that asked holds a token' })),
  delivery_before: Type.Optional(Type.Object(DeliverySchema.properties, { additionalProperties: false, description: 'The same of the revision before: of the answer that an undo took back' })),
  waiting_task: Type.Optional(Type.Object({
    room: Type.String(), id: Type.Integer(), title: Type.String()
  }, { additionalProperties: false, description: 'The task that waits for this ticket' }))
}

/** What the rooms know of a ticket. */
export const TicketInRoomSchema = Type.Object(inRoom, { additionalProperties: false })

/** A whole ticket, and what the rooms know of it. */
export const JoinedTicketSchema = Type.Object({ ...TicketSchema.properties, ...inRoom }, { additionalProperties: false })

export const TicketListSchema = Type.Object({
  tickets: Type.Array(Type.Object({ ...TicketViewSchema.properties, ...inRoom }, { additionalProperties: false })),
  now: Type.String({ description: "The server's clock: ages are counted from it" })
}, { additionalProperties: false })

/** Settled tickets, newest first. `next` is the `before` of the following page; absent on the last one. */
export const HistoryPageSchema = Type.Object({
  tickets: Type.Array(TicketViewSchema),
  next: Type.Optional(Type.Integer())
}, { additionalProperties: false })

/** Entries in order; fewer than `limit` where tickets are long. A reader goes on after the last `seq` until a page is empty. */
export const AuditPageSchema = Type.Object({ entries: Type.Array(AuditEntrySchema) }, { additionalProperties: false })

/** The description of all of this; its own grammar is that of OpenAPI 3.1. */
export const DescriptionSchema = Type.Object({
  openapi: Type.String(),
  info: Type.Object({ title: Type.String(), version: Type.String() }, { additionalProperties: true }),
  paths: Type.Object({}, { additionalProperties: true })
}, { additionalProperties: true })

export { TicketSchema }
export type Delivery = Static<typeof DeliverySchema>
export type TicketInRoom = Static<typeof TicketInRoomSchema>
export type AnswerBody = Static<typeof AnswerBodySchema>
export type TicketList = Static<typeof TicketListSchema>
export type HistoryPage = Static<typeof HistoryPageSchema>
