import Type, { type Static } from 'typebox'

const Timestamp = Type.String({ description: 'ISO 8601, UTC, milliseconds', examples: ['2026-01-31T09:30:00.000Z'] })

// An enum of strings, spelled so that every client's schema reader takes it: `type` and `enum`, no union of literals.
const stringEnum = <const T extends string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

export const UrgencySchema = stringEnum(['low', 'normal', 'blocking'])
export const StatusSchema = stringEnum(['pending', 'answered', 'expired', 'cancelled'])
export const AnsweredBySchema = stringEnum(['human', 'default'])

export const StreamSchema = Type.String({ minLength: 1, maxLength: 100 })
export const TicketIdSchema = Type.String({ minLength: 1, maxLength: 100 })
export const QuestionSchema = Type.String({ minLength: 1, maxLength: 2_000 })
export const OptionsSchema = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 2, maxItems: 5 })
export const ContextSchema = Type.String({ maxLength: 65_536 })
export const DefaultAnswerSchema = Type.String({ maxLength: 2_000 })
export const AnswerSchema = Type.String({ minLength: 1, maxLength: 16_384 })

const ticketFields = {
  id: TicketIdSchema,
  stream: StreamSchema,
  room: Type.Optional(Type.String({ description: 'The room of the agent that asked, where it holds a token' })),
  asker: Type.Optional(Type.String({ description: 'The agent that asked, by the name of its token' })),
  question: QuestionSchema,
  options: Type.Optional(OptionsSchema),
  context: Type.Optional(ContextSchema),
  default_answer: Type.Optional(DefaultAnswerSchema),
  urgency: UrgencySchema,
  status: StatusSchema,
  created_at: Timestamp,
  expires_at: Timestamp,
  answer: Type.Optional(AnswerSchema),
  answered_by: Type.Optional(AnsweredBySchema),
  answered_at: Type.Optional(Timestamp),
  cancelled_at: Type.Optional(Timestamp),
  rev: Type.Integer({ minimum: 1 })
}

/** One pending or settled demand for a human decision, whole. Lengths are in Unicode code points. */
export const TicketSchema = Type.Object(ticketFields, { additionalProperties: false })

/** A ticket as a list shows it: a long context is cut and marked. */
export const TicketViewSchema = Type.Object({
  ...ticketFields,
  context_truncated: Type.Optional(Type.Literal(true))
}, { additionalProperties: false })

export type Urgency = Static<typeof UrgencySchema>
export type Status = Static<typeof StatusSchema>
export type Ticket = Static<typeof TicketSchema>
export type TicketView = Static<typeof TicketViewSchema>
