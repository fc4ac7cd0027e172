import sse from '@fastify/sse'
import type { FastifyInstance } from 'fastify'
import type { Identity } from '../lib/identity'
import { ReadyroomError } from '../lib/errors'
import type { RoomDesk } from '../lib/room/desk'
import type { RoomEvent } from '../schemas/room'
import { StreamQuerySchema } from '../schemas/v1'
import { REFUSALS } from './errors'
import { HEARTBEAT_MS, STALL_MS, type EventsOptions } from './events'
import { endExpired, Feed, type FeedLog } from './feed'

/** The log of one room, as a feed reads it. Where it ends is known from what was heard. */
class RoomLog implements FeedLog<RoomEvent> {
  readonly #rooms: RoomDesk
  readonly #room: string
  #head = 0

  constructor (rooms: RoomDesk, room: string) {
    this.#rooms = rooms
    this.#room = room
  }

  /** @throws ROOM_NOT_FOUND */
  async look (): Promise<void> {
    this.note((await this.#replay(Number.MAX_SAFE_INTEGER, 1)).head)
  }

  note (id: number): void { this.#head = Math.max(this.#head, id) }

  head (): number { return this.#head }

  async since (cursor: number, limit: number): Promise<RoomEvent[]> {
    const { events, head } = await this.#replay(cursor, limit)
    this.note(head)
    return events
  }

  seqOf ({ id }: RoomEvent): number { return id }

  messageOf (event: RoomEvent): { event: string, data: object } { return { event: event.kind, data: event } }

  async #replay (since: number, limit: number) {
    const page = await this.#rooms.run('replay', this.#rooms.system(this.#room), { since, limit })
    if (page === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(this.#room)}.`)
    return page
  }
}

/**
 * What happens in a room, as server-sent events: event the kind, data the event, id its number in the room's log. Begins
 * now, or behind `Last-Event-ID` or `since`; `reset` where the log does not reach that far. `room_deleted` is the last.
 */
export default async function v1Stream (
  app: FastifyInstance, { rooms, identity, heartbeatMs = HEARTBEAT_MS, stallMs = STALL_MS }: EventsOptions & { rooms: RoomDesk, identity: Identity }
): Promise<void> {
  const feeds = new Map<Feed<RoomEvent>, string>()
  await app.register(sse, { heartbeatInterval: heartbeatMs })

  const stopHearing = identity.onRevoked(() => {
    for (const feed of feeds.keys()) if (!feed.isLive()) feed.end()
  })
  const stopLooking = endExpired(() => feeds.keys(), heartbeatMs)
  const stopDeleted = rooms.feed.onDeleted(gone => {
    for (const [feed, room] of feeds) if (room === gone) feed.end({ event: 'room_deleted', data: { room } })
  })
  app.addHook('onClose', async () => {
    stopHearing()
    stopLooking()
    stopDeleted()
  })
  app.closing.addEventListener('abort', () => {
    for (const feed of feeds.keys()) feed.end()
  }, { once: true })

  app.get<{ Querystring: { room?: string, since?: number } }>('/stream', {
    config: { scope: 'room:read' },
    sse: { kind: 'manual' },
    exposeHeadRoute: false,
    schema: { querystring: StreamQuerySchema, response: REFUSALS }
  }, async (request, reply) => {
    const principal = request.principal!
    const { room: asked, since } = request.query
    const { room, actor } = await rooms.enter(principal, asked)
    const log = new RoomLog(rooms, room)
    const opened: { feed?: Feed<RoomEvent> } = {}
    // Heard before it is looked at, so that nothing falls between.
    const stop = rooms.feed.subscribe(room, event => {
      log.note(event.id)
      opened.feed?.hear(event)
    })
    try {
      await log.look()
    } catch (err) {
      stop()
      throw err
    }
    if (reply.raw.destroyed) return stop()
    const left = rooms.presence.watch(room, actor.name, () => rooms.system().now)
    const feed = new Feed({ reply, log, stallMs, since, isLive: () => identity.isLive(principal) })
    opened.feed = feed
    feeds.set(feed, room)
    reply.sse.onClose(() => {
      feeds.delete(feed)
      stop()
      left()
    })
    reply.sse.keepAlive()
    await feed.start()
  })
}
