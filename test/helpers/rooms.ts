import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { SqliteRoomStore } from '../../lib/node/room/sqlite-room-store'
import { RoomAdmin } from '../../lib/room/admin'
import { RoomDesk, type RoomDeskOptions } from '../../lib/room/desk'
import type { AdminInput } from '../../schemas/admin'
import { listen, type TestOptions } from './build'

export interface OpenRooms {
  app: FastifyInstance
  origin: string
  rooms: RoomDesk
  admin: RoomAdmin
  /** Mints a token, in the room `main` unless it says otherwise; the first call ends the days without tokens. */
  mint (agent: string, more?: Partial<AdminInput<'add-token'>>): Promise<string>
}

/** The whole application with rooms in a folder of the test, listening on a free port. */
export async function listenWithRooms (t: Test, { desk = {}, ...options }: TestOptions & { desk?: Omit<RoomDeskOptions, 'store'> } = {}): Promise<OpenRooms> {
  const now = options.clock?.now ?? Date.now
  const rooms = new RoomDesk({ now, ...desk, store: new SqliteRoomStore(join(t.testdir(), 'room.db')) })
  const admin = new RoomAdmin(rooms, now)
  const { app, origin } = await listen(t, { port: 0, ...options, now, rooms })
  return {
    app,
    origin,
    rooms,
    admin,
    async mint (agent, more = {}) {
      if (!rooms.tokens.initialised) await admin.run('init', {})
      const input = { agent, room: 'main', ...more }
      for (const room of [input.room, ...input.also ?? []]) await admin.run('add-room', { room })
      return (await admin.run('add-token', input)).token
    }
  }
}
