import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { RoomDesk, type RoomDeskOptions } from '../../room/desk'
import { SqliteRoomStore } from './sqlite-room-store'

/** The file of the rooms in the state folder. */
export const ROOM_DB = 'room.db'

/**
 * The rooms of a state folder. Where there are none yet, nothing is made and no thread is started until somebody needs
 * one; where there are, they are open when this resolves, since they say who may come in.
 * @throws Error naming the file, where it cannot be opened.
 */
export async function openRooms (dir: string, options: Omit<RoomDeskOptions, 'store'> = {}): Promise<RoomDesk> {
  const file = join(dir, ROOM_DB)
  const rooms = new RoomDesk({ ...options, store: new SqliteRoomStore(file) })
  if (existsSync(file)) await rooms.open()
  return rooms
}
