import Type, { type Static } from 'typebox'
import { TicketSchema } from './ticket'

export const EventNameSchema = Type.Unsafe<'enqueued' | 'answered' | 'undone' | 'expired' | 'cancelled'>(
  { type: 'string', enum: ['enqueued', 'answered', 'undone', 'expired', 'cancelled'] })

/** What happened, before a store has given it a place in the audit log. */
export const TicketEventSchema = Type.Object({
  event: EventNameSchema,
  at: Type.String({ description: 'ISO 8601, UTC, milliseconds' }),
  actor: Type.String({ description: 'Who did it: a stream, a label of the person, `human` or `system`' })
}, { additionalProperties: false })

/** One line of the audit log. `ticket` is the ticket after the change. The order of the fields is the order on disk. */
export const AuditEntrySchema = Type.Object({
  seq: Type.Integer({ minimum: 1 }),
  batch: Type.Integer({ minimum: 1, description: 'The first seq of the write that carried this entry' }),
  at: Type.String(),
  event: EventNameSchema,
  id: Type.String(),
  stream: Type.String(),
  actor: Type.String(),
  instance: Type.String({ description: 'The process that wrote it' }),
  ticket: TicketSchema,
  prev: Type.String({ description: 'The hash before, 64 zeros at the start' }),
  hash: Type.String({ description: 'SHA-256, hex, of this line without `,"hash":"..."`' })
}, { additionalProperties: false })

export type EventName = Static<typeof EventNameSchema>
export type TicketEvent = Static<typeof TicketEventSchema>
export type AuditEntry = Static<typeof AuditEntrySchema>
