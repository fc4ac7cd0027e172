import { ask, type Ask } from './http'
import { toolCall } from './mcp-pipes'
import { TOKEN } from './worker'

export interface ToolAnswer {
  isError?: boolean
  content: Array<{ text: string }>
  structuredContent: { id: string, status: string, [field: string]: unknown }
}

/** A Worker, wherever it runs. */
export interface Reachable { origin: string }

/** What a program sends: its Origin, as strict wants it, the token, and JSON. */
export const headersOf = ({ origin }: Reachable, accept = 'application/json'): Record<string, string> =>
  ({ origin, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept })

/** One request by somebody who has the token. */
export const request = (worker: Reachable, path: string, { headers = {}, ...more }: Ask = {}): Promise<Response> =>
  ask(worker.origin, path, { ...more, headers: { ...headersOf(worker), ...headers } })

export const post = (worker: Reachable, path: string, body: object): Promise<Response> =>
  request(worker, path, { method: 'POST', body: JSON.stringify(body) })

/** One tool call of the initialize-based era; resolves with its result. */
export async function call (worker: Reachable, path: string, name: string, args: object = {}): Promise<ToolAnswer> {
  const response = await post(worker, path, toolCall(1, name, args))
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return (await response.json() as { result: ToolAnswer }).result
}

/** Enqueues a ticket; resolves with its id. */
export async function enqueue (worker: Reachable, args: object = {}): Promise<string> {
  return (await call(worker, '/mcp/agent', 'ask_human', { question: 'Ship it?', ...args })).structuredContent.id
}
