import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { Desk, type AgentDesk } from '../../lib/desk'
import { MemoryTicketStore } from '../../lib/memory-store'
import { serveMcpStdio, type McpStdio } from '../../lib/node/stdio'

export interface Message {
  id?: number | string
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown> & { structuredContent?: Record<string, unknown> }
  error?: { code: number, message: string }
}

export interface McpPipes {
  desk: Desk
  stdio: McpStdio
  stdin: PassThrough
  stdout: PassThrough
  /** What was logged: level and message, with the details beside. */
  logged: Array<{ level: string, message: string, details: Record<string, unknown> }>
  send (message: object | string): void
  /** The next message on stdout. Every line there must be one. */
  next (): Promise<Message>
  /** Sends a request and resolves with its answer; what comes in between is dropped. */
  ask (id: number, method: string, params?: object): Promise<Message>
}

export const initialize = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
})

export const toolCall = (id: number, name: string, args: object = {}, meta?: object): object =>
  ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...(meta && { _meta: meta }) } })

/** MCP on two pipes in this process. `agentDesk` stands in for the desk that is returned, where given. */
export async function startPipes (
  { agentDesk, progressMs, read = true }: { agentDesk?: AgentDesk, progressMs?: number, read?: boolean } = {}): Promise<McpPipes> {
  const desk = await new Desk(new MemoryTicketStore()).open()
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const logged: McpPipes['logged'] = []
  const at = (level: string) => (details: object, message: string) => { logged.push({ level, message, details: details as Record<string, unknown> }) }
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  const stdio = serveMcpStdio({
    desk: agentDesk ?? desk, stream: 'pipe', version: '1.2.3', log, stdin, stdout, ...(progressMs !== undefined && { progressMs })
  })
  const lines = read ? createInterface({ input: stdout })[Symbol.asyncIterator]() : undefined
  const send = (message: object | string): void => { stdin.write(typeof message === 'string' ? message : JSON.stringify(message) + '\n') }
  const next = async (): Promise<Message> => JSON.parse((await lines!.next()).value as string) as Message
  return {
    desk,
    stdio,
    stdin,
    stdout,
    logged,
    send,
    next,
    async ask (id, method, params) {
      send({ jsonrpc: '2.0', id, method, ...(params && { params }) })
      for (;;) {
        const message = await next()
        if (message.id === id) return message
      }
    }
  }
}

/** Whether the promise is settled within the deadline, in milliseconds. */
export async function settlesWithin (promise: Promise<unknown>, ms: number): Promise<boolean> {
  const deadline = AbortSignal.timeout(ms)
  return Promise.race([promise.then(() => true, () => true), once(deadline, 'abort').then(() => false)])
}
