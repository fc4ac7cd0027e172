import type { ToolCall, ToolReply } from '../../schemas/internal'
import type { AgentDesk } from '../desk'
import type { Doors } from '../doors'
import { ReadyroomError } from '../errors'
import { readAsk } from '../lifecycle'
import { may, OWNER, type Principal, type Scope } from '../principal'

function required<T> (value: T | undefined, name: string): T {
  if (value === undefined) throw new ReadyroomError('BAD_REQUEST', `${name} is missing from the call.`)
  return value
}

const NEEDS: { [tool in ToolCall['tool']]?: Scope } = {
  ask_human: 'tickets:ask', wait_for_answer: 'tickets:ask', cancel_ticket: 'tickets:ask', list_pending: 'tickets:read'
}

/** @throws FORBIDDEN_SCOPE */
function check (tool: ToolCall['tool'], principal: Principal): void {
  const scope = NEEDS[tool]
  if (scope !== undefined && !may(principal, scope)) {
    throw new ReadyroomError('FORBIDDEN_SCOPE', `${tool} needs the scope ${scope}, which the token of ${principal.name} does not have.`)
  }
}

/**
 * What a call that may have come from another process means at the desk. It is checked here again, whoever sent it.
 * `doors` says who the caller is, where callers can differ. `onWritten` gets what to call once the reply has been written.
 */
export async function runToolCall (
  desk: AgentDesk, call: ToolCall, signal?: AbortSignal, doors?: Doors, onWritten: (written: () => void) => void = () => {}
): Promise<ToolReply> {
  const principal = doors?.identity.ofAgent(call.agent_token) ?? OWNER
  const receipt = doors?.receiptFor(principal)
  const tickets = doors?.deskOf(principal) ?? desk
  const own = receipt?.around(tickets) ?? tickets
  if (receipt !== undefined) onWritten(() => { receipt.written() })
  check(call.tool, principal)
  switch (call.tool) {
    case 'ask_human': {
      const { stream = principal.kind === 'owner' ? undefined : principal.name, ...input } = readAsk(required(call.ask, 'ask'))
      return { ticket: await own.ask({ ...input, stream: required(stream, 'ask.stream') }, required(call.id, 'id')) }
    }
    case 'wait_for_answer': return { ticket: await own.wait(required(call.id, 'id'), { ms: call.wait_ms ?? 0, signal }) }
    case 'cancel_ticket': return { ticket: await own.cancel(required(call.id, 'id')) }
    case 'list_pending': return { pending: await own.pending() }
    case 'whoami': {
      const { name, scopes } = principal
      return { whoami: { name, scopes: [...scopes], room_tools: doors?.rooms?.toolsOf(principal).map(tool => tool.name) ?? [] } }
    }
    case 'room': {
      const rooms = doors?.rooms
      if (rooms === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', 'The daemon of this machine has no rooms: it is an older release, or one without them.')
      const { name, args, stream, key } = required(call.room_call, 'room_call')
      receipt?.called()
      // Nameless, an agent would speak as the owner, and so as a person.
      if (principal.kind === OWNER.kind) required(stream, 'room_call.stream')
      const result = await rooms.call(name, args, { principal, tickets, stream, signal, key })
      return { room: receipt?.result(name, result) ?? result }
    }
  }
}
