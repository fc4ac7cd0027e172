import sse from '@fastify/sse'
import type { FastifyInstance } from 'fastify'
import { NoQuerySchema } from '../schemas/api'
import { REFUSALS } from './errors'
import { Feed } from './feed'

/** How often a silent stream says that it is alive, in milliseconds. */
const HEARTBEAT_MS = 15_000

/** How long a full socket may take nothing before its reader is dropped, in milliseconds. */
const STALL_MS = 30_000

export interface EventsOptions {
  heartbeatMs?: number | undefined
  stallMs?: number | undefined
}

/**
 * Ticket changes as server-sent events: event `ticket`, data the ticket, id the seq of the audit log. `Last-Event-ID`
 * replays from there; where that is no place to go on from, one `reset` tells the page to read the list anew.
 */
export default async function events (app: FastifyInstance, { heartbeatMs = HEARTBEAT_MS, stallMs = STALL_MS }: EventsOptions): Promise<void> {
  const { desk, presence, closing } = app
  const feeds = new Set<Feed>()
  await app.register(sse, { heartbeatInterval: heartbeatMs })

  const stop = desk.subscribe(entry => {
    for (const feed of feeds) feed.hear(entry)
  })
  app.addHook('onClose', async () => { stop() })
  closing.addEventListener('abort', () => {
    for (const feed of feeds) feed.end()
  }, { once: true })

  // `manual`: whatever a client says it accepts, this is what there is. A HEAD of a stream would never end.
  app.get('/events', { sse: { kind: 'manual' }, exposeHeadRoute: false, schema: { querystring: NoQuerySchema, response: REFUSALS } }, async (_request, reply) => {
    // A reader that left while its token was checked has closed already, and would be counted for ever.
    if (reply.raw.destroyed) return
    const closed = presence.openStream()
    const feed = new Feed({ reply, desk, stallMs })
    feeds.add(feed)
    reply.sse.onClose(() => {
      feeds.delete(feed)
      closed()
    })
    reply.sse.keepAlive()
    await feed.start()
  })
}
