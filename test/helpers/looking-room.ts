import { RoomObject as Room } from '../../worker/rooms/room-object'

/** A room of the product, and a look at its alarm and its tables that changes nothing. */
export class RoomObject extends Room {
  async look (query: string): Promise<{ alarm: number | null, rows: Array<Record<string, unknown>> }> {
    const { storage } = this.ctx
    return { alarm: await storage.getAlarm(), rows: storage.sql.exec(query).toArray() }
  }
}
