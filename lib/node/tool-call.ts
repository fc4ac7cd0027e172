import type { ToolCall, ToolReply } from '../../schemas/internal'
import type { AgentDesk } from '../desk'
import { ReadyroomError } from '../errors'
import { readAsk } from '../lifecycle'

function required<T> (value: T | undefined, name: string): T {
  if (value === undefined) throw new ReadyroomError('BAD_REQUEST', `${name} is missing from the call.`)
  return value
}

/** What a call that may have come from another process means at the desk. It is checked here again, whoever sent it. */
export async function runToolCall (desk: AgentDesk, call: ToolCall, signal?: AbortSignal): Promise<ToolReply> {
  switch (call.tool) {
    case 'ask_human': {
      const { stream, ...input } = readAsk(required(call.ask, 'ask'))
      return { ticket: await desk.ask({ ...input, stream: required(stream, 'ask.stream') }, required(call.id, 'id')) }
    }
    case 'wait_for_answer': return { ticket: await desk.wait(required(call.id, 'id'), { ms: call.wait_ms ?? 0, signal }) }
    case 'cancel_ticket': return { ticket: await desk.cancel(required(call.id, 'id')) }
    case 'list_pending': return { pending: await desk.pending() }
  }
}
