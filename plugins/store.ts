import fp from 'fastify-plugin'
import { Desk } from '../lib/desk'
import { Presence } from '../lib/presence'
import type { TicketStore } from '../lib/store'

export interface StoreOptions {
  /** Loaded here, and closed with the application. */
  store: TicketStore
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    ticketStore: TicketStore
    desk: Desk
    presence: Presence
  }
}

/** Opens the store and puts the desk on it. */
export default fp<StoreOptions>(async function store (app, { store, now }) {
  await store.load()
  app.addHook('onClose', () => store.close())

  const desk = await new Desk(store, { log: app.log, ...(now && { now }) }).open()
  app.decorate('ticketStore', store)
  app.decorate('desk', desk)
  app.decorate('presence', new Presence())
  // Whoever waits is told how the ticket stands while the connection is still there.
  app.closing.addEventListener('abort', () => desk.close(), { once: true })
}, { name: 'readyroom-store', fastify: '5.x', dependencies: ['readyroom-closing'] })
