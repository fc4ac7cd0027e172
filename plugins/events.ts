import sse from '@fastify/sse'
import type { FastifyInstance } from 'fastify'
import type { Identity } from '../lib/identity'
import { sees } from '../lib/principal-desk'
import type { Principal } from '../lib/principal'
import type { RoomDesk } from '../lib/room/desk'
import { knownOf, watchTickets } from '../lib/room/ticket-watch'
import { NoQuerySchema } from '../schemas/api'
import type { AuditEntry } from '../schemas/event'
import { REFUSALS } from './errors'
import { endExpired, Feed, type FeedLog } from './feed'

/** How often a silent stream says that it is alive, in milliseconds. */
export const HEARTBEAT_MS = 15_000

/** How long a full socket may take nothing before its reader is dropped, in milliseconds. */
export const STALL_MS = 30_000

/** A reader further behind than this reads the list anew: that is less than the replay. */
export const REPLAY_LIMIT = 1_000

export interface EventsOptions {
  heartbeatMs?: number | undefined
  stallMs?: number | undefined
}

/**
 * Ticket changes as server-sent events: event `ticket`, data the ticket, id the seq of the audit log. `Last-Event-ID`
 * replays from there; where that is no place to go on from, one `reset` tells the page to read the list anew. Event
 * `delivery`, without an id, is what the rooms have come to know of a ticket: it is not replayed, the list says it too.
 */
export default async function events (
  app: FastifyInstance,
  { identity, rooms, heartbeatMs = HEARTBEAT_MS, stallMs = STALL_MS }: EventsOptions & { identity: Identity, rooms?: RoomDesk | undefined }
): Promise<void> {
  const { desk, presence, closing } = app
  const feeds = new Map<Feed<AuditEntry>, Principal>()
  await app.register(sse, { heartbeatInterval: heartbeatMs })

  const stop = desk.subscribe(entry => {
    for (const feed of feeds.keys()) feed.hear(entry)
  })
  const stopHearing = identity.onRevoked(() => {
    for (const feed of feeds.keys()) if (!feed.isLive()) feed.end()
  })
  const stopLooking = endExpired(() => feeds.keys(), heartbeatMs)
  const stopWatching = rooms === undefined ? () => {} : watchTickets({ rooms, tell })
  app.addHook('onClose', async () => {
    stop()
    stopWatching()
    stopHearing()
    stopLooking()
  })
  closing.addEventListener('abort', () => {
    for (const feed of feeds.keys()) feed.end()
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
    const log: FeedLog<AuditEntry> = {
      head: () => desk.head().seq,
      since: (seq, limit) => desk.since(seq, limit),
      seqOf: ({ seq }) => seq,
      messageOf: ({ ticket }) => sees(principal, ticket) ? { event: 'ticket', data: ticket } : undefined,
      replayLimit: REPLAY_LIMIT
    }
    const feed = new Feed({ reply, log, stallMs, isLive: () => identity.isLive(principal) })
    feeds.set(feed, principal)
    reply.sse.onClose(() => {
      feeds.delete(feed)
      closed()
    })
    reply.sse.keepAlive()
    await feed.start()
  })

  /** Never rejects: what is not told here is in the list. */
  async function tell (ids: readonly string[]): Promise<void> {
    if (feeds.size === 0) return
    const found = await Promise.all(ids.map(id => desk.get(id).catch(() => undefined)))
    const tickets = found.filter(ticket => ticket !== undefined)
    const known = await knownOf(rooms, tickets, err => { app.log.warn({ err }, 'The rooms cannot be read; the page is not told what became of answers') })
    for (const ticket of tickets) {
      const data = { id: ticket.id, rev: ticket.rev, ...known[ticket.id] }
      for (const [feed, principal] of feeds) if (sees(principal, ticket)) feed.aside({ event: 'delivery', data })
    }
  }
}
