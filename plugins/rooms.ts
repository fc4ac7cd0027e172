import fp from 'fastify-plugin'
import type { RoomDesk } from '../lib/room/desk'
import { TicketJoiner } from '../lib/room/ticket-joiner'

export interface RoomsOptions {
  rooms: RoomDesk
  /** Of this server. */
  version: string
  /** Whether the rooms are told when it is another one than before. */
  announceUpgrades: boolean
}

/** Joins the rooms to the tickets, tells them of an upgrade, and closes them with the application, before the tickets' own store. */
export default fp<RoomsOptions>(async function rooms (app, { rooms, version, announceUpgrades }) {
  const { desk } = app
  let joiner: TicketJoiner | undefined

  async function join (): Promise<void> {
    // One that could not start is none to keep.
    await joiner?.close()
    joiner = new TicketJoiner({ desk, rooms, log: app.log })
    await joiner.start()
    await rooms.run('noteVersion', rooms.system(), { version, announce: announceUpgrades })
  }
  if (rooms.isOpen) await join()
  else rooms.onOpen = join

  app.addHook('preClose', async () => { await joiner?.close() })
  app.addHook('onClose', async () => { await rooms.close() })
}, { name: 'readyroom-rooms', fastify: '5.x', dependencies: ['readyroom-store'] })
