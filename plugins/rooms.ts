import fp from 'fastify-plugin'
import type { RoomDesk } from '../lib/room/desk'
import { TicketJoiner } from '../lib/room/ticket-joiner'

export interface RoomsOptions {
  rooms: RoomDesk
}

/** Joins the rooms to the tickets, and closes them with the application, before the tickets' own store. */
export default fp<RoomsOptions>(async function rooms (app, { rooms }) {
  const { desk } = app
  let joiner: TicketJoiner | undefined

  async function join (): Promise<void> {
    joiner = new TicketJoiner({ desk, rooms, log: app.log })
    await joiner.start()
  }
  if (rooms.isOpen) await join()
  else rooms.onOpen = join

  app.addHook('preClose', async () => { await joiner?.close() })
  app.addHook('onClose', async () => { await rooms.close() })
}, { name: 'readyroom-rooms', fastify: '5.x', dependencies: ['readyroom-store'] })
