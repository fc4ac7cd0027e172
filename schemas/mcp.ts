import Type, { type Static } from 'typebox'
import {
  AnsweredBySchema, ContextSchema, DefaultAnswerSchema, OptionsSchema, QuestionSchema, StatusSchema, StreamSchema, TicketIdSchema,
  TicketViewSchema, UrgencySchema
} from './ticket'

// `Type.Options`-free on purpose: a description beside each field is what a model reads.
const described = <T extends object>(schema: T, description: string, more: object = {}): T => ({ ...schema, ...more, description })

export const AskHumanInputSchema = Type.Object({
  question: described(QuestionSchema, 'What must be decided, in one sentence. 1 to 2,000 characters.'),
  options: Type.Optional(described(OptionsSchema,
    'Two to five mutually exclusive choices, each 1 to 200 characters. Leave it out for an answer in free text; the person may always answer in free text.')),
  context: Type.Optional(described(ContextSchema,
    'The least text that is needed to decide, plain text with line breaks. At most 65,536 characters.')),
  default_answer: Type.Optional(described(DefaultAnswerSchema,
    'Applied only if nobody answers before the ticket expires, and labelled so. Set it only where going on without a person is safe.')),
  timeout_seconds: Type.Optional(Type.Number({
    minimum: 1, maximum: 86_400, default: 1_800, description: 'How long the ticket stays open, in seconds. 1 to 86,400; 1,800 if left out.'
  })),
  urgency: Type.Optional(described(UrgencySchema, '"blocking" when no other work is left until this is answered.', { default: 'normal' })),
  stream: Type.Optional(described(StreamSchema, 'Which agent asks. Left out, the stream that this connection was set up with.'))
}, { additionalProperties: false })

export const AskHumanOutputSchema = Type.Object({
  id: Type.String(),
  status: Type.Unsafe<'pending'>({ type: 'string', enum: ['pending'] }),
  expires_at: Type.String()
}, { additionalProperties: false })

export const WaitForAnswerInputSchema = Type.Object({
  id: described(TicketIdSchema, 'The id that ask_human returned.'),
  timeout_seconds: Type.Optional(Type.Number({
    minimum: 0, default: 60, description: 'How long to wait, in seconds. 0 to 600, a larger value counts as 600; 60 if left out.'
  }))
}, { additionalProperties: false })

export const WaitForAnswerOutputSchema = Type.Object({
  id: Type.String(),
  status: StatusSchema,
  answer: Type.Optional(Type.String()),
  answered_by: Type.Optional(AnsweredBySchema),
  answered_at: Type.Optional(Type.String())
}, { additionalProperties: false })

export const ListPendingInputSchema = Type.Object({}, { additionalProperties: false })

export const ListPendingOutputSchema = Type.Object({
  tickets: Type.Array(TicketViewSchema),
  omitted: Type.Optional(Type.Integer({ minimum: 1, description: 'How many more are pending than this list shows' }))
}, { additionalProperties: false })

export const CancelTicketInputSchema = Type.Object({
  id: described(TicketIdSchema, 'The id that ask_human returned.')
}, { additionalProperties: false })

export const CancelTicketOutputSchema = Type.Object({
  id: Type.String(),
  status: Type.Unsafe<'cancelled'>({ type: 'string', enum: ['cancelled'] })
}, { additionalProperties: false })

export type AskHumanInput = Static<typeof AskHumanInputSchema>
export type WaitForAnswerInput = Static<typeof WaitForAnswerInputSchema>
export type WaitForAnswerOutput = Static<typeof WaitForAnswerOutputSchema>
export type PendingList = Static<typeof ListPendingOutputSchema>
