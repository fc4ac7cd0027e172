import sse from '@fastify/sse'
import type { FastifyInstance } from 'fastify'
import type { Identity } from '../lib/identity'
import { sees } from '../lib/principal-desk'
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
export default async function events (
  app: FastifyInstance, { identity, heartbeatMs = HEARTBEAT_MS, stallMs = STALL_MS }: EventsOptions & { identity: Identity }
): Promise<void> {
  const { desk, presence, closing } = app
  const feeds = new Set<Feed>()
  await app.register(sse, { heartbeatInterval: heartbeatMs })

  const stop = desk.subscribe(entry => {
    for (const feed of feeds) feed.hear(entry)
  })
  const stopHearing = identity.onRevoked(() => {
    for (const feed of feeds) if (!feed.isLive()) feed.end()
  })
  app.addHook('onClose', async () => {
    stop()
    stopHearing()
  })
  closing.addEventListener('abort', () => {
    for (const feed of feeds) feed.end()
  }, { once: true })

  // `manual`: whatever a client says it accepts, this is what there is. A HEAD of a stream would never end.
  app.get('/events', {
    config: { scope: 'tickets:read' },
    sse: { kind: 'manual' },
    exposeHeadRoute: false,
    schema: { querystring: NoQuerySchema, response: REFUSALS }
  }, async (request, reply) => {
    // A reader that left while its token was checked has closed already, and would be counted for ever.
    if (reply.raw.destroyed) return
    const closed = presence.openStream()
    const principal = request.principal!
    const feed = new Feed({ reply, desk, stallMs, visible: ticket => sees(principal, ticket), isLive: () => identity.isLive(principal) })
    feeds.add(feed)
    reply.sse.onClose(() => {
      feeds.delete(feed)
      closed()
    })
    reply.sse.keepAlive()
    await feed.start()
  })
}
