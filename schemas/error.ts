import Type, { type Static } from 'typebox'
import { TicketSchema } from './ticket'

/** The one shape of a refusal over HTTP. */
export const ErrorBodySchema = Type.Object({
  error: Type.String({ description: 'A code of the table in lib/errors' }),
  message: Type.String({ description: 'A sentence: what was refused, why, and what to do' }),
  ticket: Type.Optional(TicketSchema)
}, { additionalProperties: false })

export type ErrorBody = Static<typeof ErrorBodySchema>
