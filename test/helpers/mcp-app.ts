import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Desk } from '../../lib/desk'
import { MemoryTicketStore } from '../../lib/memory-store'
import type { TicketStore } from '../../lib/store'
import bodies from '../../plugins/bodies'
import closing, { lastAnswers } from '../../plugins/closing'
import errors, { sendError } from '../../plugins/errors'
import mcp, { type McpOptions } from '../../plugins/mcp'
import methods from '../../plugins/methods'
import store from '../../plugins/store'

export interface McpApp {
  app: FastifyInstance
  desk: Desk
  /** The address of `/mcp`, without a final slash. */
  url: string
  /** What was logged as an error. */
  errors: Array<Record<string, unknown>>
  close (): Promise<void>
}

export interface McpAppOptions extends Partial<McpOptions> {
  store?: TicketStore
  /** Holds each request up, once its body is read, until this resolves. */
  hold?: (reply: FastifyReply) => Promise<void>
}

/** MCP alone, listening on a free port, on a desk in memory: no guard stands before it. */
export async function startMcpApp (options: McpAppOptions = {}): Promise<McpApp> {
  const { store: ticketStore = new MemoryTicketStore(), hold, ...mcpOptions } = options
  const logged: McpApp['errors'] = []
  const app = Fastify({
    forceCloseConnections: true,
    frameworkErrors: (err, request, reply) => { sendError(err, request, reply) },
    logger: { level: 'error', stream: { write: line => { logged.push(JSON.parse(line)) } } }
  })
  await app.register(closing)
  await app.register(errors)
  await app.register(bodies)
  await app.register(methods)
  await app.register(store, { store: ticketStore })
  if (hold) app.addHook('preHandler', (_request, reply) => hold(reply))
  await app.register(mcp, { prefix: '/mcp', version: '1.2.3', ...mcpOptions })
  app.refuseOtherMethods()
  await app.register(lastAnswers)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, desk: app.desk, errors: logged, url: `${address}/mcp`, close: () => app.close() }
}

/** Resolves when exactly `count` calls wait on the desk. */
export async function untilWaiting (desk: Desk, count: number, ms = 5_000): Promise<void> {
  const deadline = performance.now() + ms
  while (desk.waiting !== count) {
    if (performance.now() > deadline) throw new Error(`${desk.waiting} wait after ${ms} ms, not ${count}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
