import Fastify, { type FastifyInstance } from 'fastify'
import { Desk } from '../../lib/desk'
import { toHttp } from '../../lib/errors'
import { MemoryTicketStore } from '../../lib/memory-store'
import type { TicketStore } from '../../lib/store'
import mcp, { type McpOptions } from '../../plugins/mcp'

export interface McpApp {
  app: FastifyInstance
  desk: Desk
  /** The address of `/mcp`, without a final slash. */
  url: string
  /** What was logged as an error. */
  errors: Array<Record<string, unknown>>
  close (): Promise<void>
}

/** The MCP plugin alone, listening on a free port, on a desk in memory: no guard stands before it. */
export async function startMcpApp (options: Partial<McpOptions> & { store?: TicketStore } = {}): Promise<McpApp> {
  const { store = new MemoryTicketStore(), ...mcpOptions } = options
  const errors: McpApp['errors'] = []
  const desk = await new Desk(store).open()
  const app = Fastify({
    bodyLimit: 1_048_576,
    forceCloseConnections: true,
    logger: { level: 'error', stream: { write: line => { errors.push(JSON.parse(line)) } } }
  })
  app.decorate('desk', desk)
  app.setErrorHandler((err: Error & { statusCode?: number }, _request, reply) => {
    const { status, headers, body } = toHttp(err)
    reply.code(status === 500 && err.statusCode !== undefined ? err.statusCode : status).headers(headers).send(body)
  })
  await app.register(mcp, { prefix: '/mcp', version: '1.2.3', ...mcpOptions })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, desk, errors, url: `${address}/mcp`, close: () => app.close() }
}

/** Resolves when `count` calls wait on the desk. */
export async function untilWaiting (desk: Desk, count: number, ms = 5_000): Promise<void> {
  const deadline = performance.now() + ms
  while (desk.waiting !== count) {
    if (performance.now() > deadline) throw new Error(`${desk.waiting} wait after ${ms} ms, not ${count}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
