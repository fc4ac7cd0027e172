import fp from 'fastify-plugin'
import type { RoomDesk } from '../lib/room/desk'
import { RoomSweeper } from '../lib/room/sweeper'

/** How often a round is made, in milliseconds. */
const INTERVAL_MS = 3_600_000

export interface SweepingOptions {
  rooms: RoomDesk
  prune?: boolean | undefined
  intervalMs?: number | undefined
  now?: (() => number) | undefined
}

/** Sweeps the rooms while the application runs, from when there are any. */
export default fp<SweepingOptions>(async function sweeping (app, { rooms, prune, intervalMs = INTERVAL_MS, now }) {
  const sweeper = new RoomSweeper({ rooms, log: app.log, prune, intervalMs, now })
  if (rooms.isOpen) sweeper.start()
  else {
    const others = rooms.onOpen
    rooms.onOpen = async () => {
      await others()
      sweeper.start()
    }
  }
  app.addHook('preClose', () => sweeper.close())
}, { name: 'readyroom-sweeping', fastify: '5.x', dependencies: ['readyroom-rooms'] })
