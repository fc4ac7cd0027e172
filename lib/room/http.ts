import type { Principal } from '../principal'
import { mayEnter } from '../principal'
import type { Attention, Unread, WhoAmI } from '../../schemas/v1'
import type { RoomFile } from '../../schemas/room'
import type { RoomDesk } from './desk'
import type { ExportFormat } from './export'
import { UNTRUSTED } from './tools'

// What `/v1` does beside calling the tools, the same on every target.

/** How long the body of an upload may be, in bytes: a file of that many bytes in base64 (RFC 4648, 4), and what stands around it. */
export const uploadLimit = (fileBytes: number): number => Math.ceil(fileBytes * 4 / 3) + 64 * 1_024

/** What came since the cursor, which stays where it is. A watcher's look, and no sign of work. */
export async function unreadOf (
  rooms: RoomDesk, principal: Principal, { room, ...which }: { room?: string, limit?: number, since?: number }
): Promise<Unread> {
  const head = await rooms.enter(principal, room)
  rooms.presence.glimpse(head.room, head.actor.name, head.now)
  const peeked = await rooms.run('peek', head, { quiet: true, ...which })
  return { room: head.room, agent: head.actor.name, ...peeked, untrusted: UNTRUSTED }
}

/** Moves the cursor forward, for whoever has shown what was unread. */
export async function moveCursor (rooms: RoomDesk, principal: Principal, { room, through }: { room?: string, through: number }) {
  const head = await rooms.enter(principal, room)
  rooms.presence.glimpse(head.room, head.actor.name, head.now)
  return { room: head.room, ...await rooms.run('commitCursor', head, { through }) }
}

/** A watcher or a hook says what it has cost its agent. No sign of work. */
export async function reportAttention (rooms: RoomDesk, principal: Principal, { room, ...input }: { room?: string, kind: 'wake' | 'inject', n?: number }): Promise<{ done: true }> {
  const head = await rooms.enter(principal, room)
  rooms.presence.glimpse(head.room, head.actor.name, head.now)
  await rooms.run('noteAttention', head, input)
  return { done: true }
}

export async function attentionIn (rooms: RoomDesk, principal: Principal, { room, days }: { room?: string, days?: number }): Promise<Attention> {
  const head = await rooms.enter(principal, room)
  return rooms.run('attentionOf', head, { ...(days !== undefined && { days }) })
}

/** Who somebody is, and where they may go. */
export async function whoAmI (rooms: RoomDesk, principal: Principal): Promise<WhoAmI> {
  await rooms.open()
  const { rooms: all } = await rooms.run('listRooms', rooms.system(), {})
  const { name, kind, scopes, home } = principal
  return { name, kind, scopes: [...scopes], home, rooms: all.filter(({ room }) => mayEnter(principal, room)) }
}

/** Headers of an export. The name of a room can stand in a header as it is. */
export const exportHeaders = (room: string, format: ExportFormat): Record<string, string> => ({
  'content-type': format === 'md' ? 'text/markdown; charset=utf-8' : 'application/jsonl; charset=utf-8',
  'content-disposition': `attachment; filename="${room}.${format}"`
})

/** Headers of a download. Whatever somebody has put there, no browser runs or shows it in our name. */
export function downloadHeaders ({ name, sha256 }: RoomFile): Record<string, string> {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name.replace(/\p{Cs}/gu, '\ufffd')).replace(/['()*]/g, letter => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
  return {
    'content-type': 'application/octet-stream',
    // Both spellings (RFC 6266, 4.3): the plain one for whoever does not know the other.
    'content-disposition': `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`,
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-readyroom-sha256': sha256
  }
}
