// What agents and people send, and what they may conclude from what comes back.
import type { Ticket } from '../schemas/ticket'
import type { AgentProgram, Machine, Reply } from './machine'

/**
 * Acknowledged: it is there, for good. Refused: it never happened. Unsaid: nobody was told, or was told that it is not
 * known, so it may be there, whole, or not at all.
 */
export type Outcome =
  | { kind: 'acknowledged', id: string, rev?: number }
  | { kind: 'refused', code: string, message: string, afterMs: number }
  | { kind: 'unsaid', why: string }

/** An answer that never comes is unsaid as well, after so many milliseconds. */
const PATIENCE_MS = 20_000

/** Where agents reach the daemon: over HTTP, or through a process of their own. */
export interface AgentDoor {
  ask (question: string, context?: string): Promise<Outcome>
  cancel (id: string): Promise<Outcome>
}

/** Only a refusal that says so is one: a settled ticket, an unknown one, or a store and a daemon that took nothing. */
const TOOK_NOTHING = /Nothing was saved|This Ready Room is stopping/
const NOT_KNOWN = /may be there|not known/
const SETTLED = ['TICKET_SETTLED', 'TICKET_NOT_FOUND', 'UNDO_WINDOW_PASSED']

function refusal (code: string, message: string, start: number): Outcome {
  const definite = SETTLED.includes(code) || (TOOK_NOTHING.test(message) && !NOT_KNOWN.test(message))
  return definite ? { kind: 'refused', code, message, afterMs: performance.now() - start } : { kind: 'unsaid', why: message }
}

// A tool result has the sentence alone.
function codeOf (text: string): string {
  if (/^Ticket .* (?:was|is) already/.test(text)) return 'TICKET_SETTLED'
  return /^There is no ticket/.test(text) ? 'TICKET_NOT_FOUND' : 'STORE_UNAVAILABLE'
}

function ofTool ({ result, error }: Reply, start: number): Outcome {
  if (error !== undefined) return { kind: 'unsaid', why: error.message }
  if (result?.isError === true) {
    const text = result.content?.[0]?.text ?? ''
    return refusal(codeOf(text), text, start)
  }
  const id = result?.structuredContent?.['id']
  return typeof id === 'string' ? { kind: 'acknowledged', id } : { kind: 'unsaid', why: `No id in ${JSON.stringify(result)}` }
}

async function post (url: string, path: string, body: object): Promise<{ status: number, body: unknown }> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', origin: url },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS)
  })
  const text = await response.text()
  // A stream of events with the one message in it, or the message itself.
  const json = text.startsWith('{') ? text : /^data: ?(\{.*)$/m.exec(text)?.[1] ?? '{}'
  return { status: response.status, body: JSON.parse(json) }
}

const whyOf = (err: unknown): string => err instanceof Error ? `${err.message} ${err.cause instanceof Error ? err.cause.message : ''}`.trim() : String(err)

/** A daemon that is gone in mid-call leaves a call without an answer. */
async function unsaidIfLost (run: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await run()
  } catch (err) {
    return { kind: 'unsaid', why: whyOf(err) }
  }
}

export function httpDoor (machine: Machine, stream: string): AgentDoor {
  let id = 0
  const call = (name: string, args: object): Promise<Outcome> => unsaidIfLost(async () => {
    const start = performance.now()
    const { status, body } = await post(machine.url, `/mcp/${stream}`, { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args } })
    if (status !== 200) return { kind: 'unsaid', why: `${status} ${JSON.stringify(body)}` }
    return ofTool(body as Reply, start)
  })
  return doorOf(call)
}

export function stdioDoor (agent: AgentProgram): AgentDoor {
  return doorOf((name, args) => unsaidIfLost(async () => {
    const start = performance.now()
    return ofTool(await agent.request('tools/call', { name, arguments: args }), start)
  }))
}

const doorOf = (call: (name: string, args: object) => Promise<Outcome>): AgentDoor => ({
  // A day, so that nothing expires while a run looks at it.
  ask: (question, context) => call('ask_human', { question, timeout_seconds: 86_400, ...(context !== undefined && { context }) }),
  cancel: id => call('cancel_ticket', { id })
})

/** What the person does at the heads-up page. */
export function person (machine: Machine): { answer (id: string, answer: string): Promise<Outcome>, undo (id: string): Promise<Outcome> } {
  const send = (path: string, body: object): Promise<Outcome> => unsaidIfLost(async () => {
    const start = performance.now()
    const { status, body: said } = await post(machine.url, path, body)
    if (status === 200) {
      const { id, rev } = said as Ticket
      return { kind: 'acknowledged', id, rev }
    }
    const { error = 'NO_CODE', message = '' } = said as { error?: string, message?: string }
    return refusal(error, `${status} ${message}`, start)
  })
  return {
    answer: (id, answer) => send('/api/answer', { id, answer }),
    undo: id => send('/api/undo', { id })
  }
}
