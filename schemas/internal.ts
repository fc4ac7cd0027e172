import Type, { type Static } from 'typebox'
import { AskHumanInputSchema } from './mcp'
import { TicketIdSchema } from './ticket'

/**
 * How a client process hands a tool call to the daemon: POST /internal/tool-call. The client has resolved the stream
 * and minted the ticket's id, so that a call sent twice makes one ticket. A long wait is asked in slices.
 */
export const ToolCallSchema = Type.Object({
  tool: Type.Unsafe<'ask_human' | 'wait_for_answer' | 'list_pending' | 'cancel_ticket'>(
    { type: 'string', enum: ['ask_human', 'wait_for_answer', 'list_pending', 'cancel_ticket'] }),
  id: Type.Optional(TicketIdSchema),
  wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 20_000 })),
  ask: Type.Optional(AskHumanInputSchema)
}, { additionalProperties: false })

export type ToolCall = Static<typeof ToolCallSchema>
