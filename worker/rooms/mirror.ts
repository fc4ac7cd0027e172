import type { Command } from '../../lib/room/call'
import { gone, loadTokens, type TokenView } from '../../lib/room/commands/tokens'
import { all, first, run, type Steps } from '../../lib/room/steps'
import { db } from '../../lib/room/tables'

/** The tokens that are alive and good for one room, as the registry knew them at a version. Without their hashes: a room lets nobody in. */
export interface TokenSet { version: number, tokens: readonly TokenView[] }

const VERSION = 'tokens_version'
const BEHIND = 'behind:'

/** A single value of this object. */
export function * valueOf (name: string): Steps<string | undefined> {
  return (yield * first(db.selectFrom('marks').select('value').where('name', '=', name)))?.value
}

export function * setValue (name: string, value: string): Steps<void> {
  yield * run(db.insertInto('marks').values({ name, value }).onConflict(conflict => conflict.column('name').doUpdateSet({ value })))
}

// In a room.

/** Takes the registry's word for who holds a token; one that comes late changes nothing. Whoever has none any more has left. */
export const mirrorTokens: Command<TokenSet, null> = function * (call, { version, tokens }) {
  if (Number((yield * valueOf(VERSION)) ?? -1) >= version) return null
  const before = yield * all(db.selectFrom('tokens').select(['id', 'agent']))
  const known = new Set(before.map(({ id }) => id))
  const live = new Set(tokens.map(({ id }) => id))
  for (const { id } of before) if (!live.has(id)) yield * run(db.deleteFrom('tokens').where('id', '=', id))
  for (const token of tokens) {
    if (known.has(token.id)) continue
    yield * run(db.insertInto('tokens').values({
      id: token.id,
      hash: String(token.id),
      agent: token.agent,
      role: token.role,
      home: token.home,
      rooms: JSON.stringify(token.rooms),
      all_rooms: token.all_rooms ? 1 : 0,
      created_at: token.created_at,
      last_used_at: null,
      expires_at: token.expires_at ?? null,
      revoked_at: null
    }))
  }
  const names = new Set(tokens.map(({ agent }) => agent))
  for (const name of new Set(before.map(({ agent }) => agent))) if (!names.has(name)) yield * gone(call, name)
  yield * setValue(VERSION, String(version))
  return null
}

/** Whether a token still counts here. */
export function * isLive (id: number, now: number): Steps<boolean> {
  const token = yield * first(db.selectFrom('tokens').select('expires_at').where('id', '=', id))
  return token !== undefined && (token.expires_at === null || now < Date.parse(token.expires_at))
}

// In the registry.

/** What a room is to know. */
export function * tokensFor (room: string): Steps<TokenSet> {
  const { tokens } = yield * loadTokens({ actor: { name: 'system', kind: 'system', admin: true }, room, now: 0, events: [] }, {})
  const good = tokens.filter(({ home, rooms, all_rooms: everywhere }) => everywhere || home === room || rooms.includes(room))
  return { version: Number((yield * valueOf(VERSION)) ?? 0), tokens: good.map(({ hash: _hash, ...view }) => view) }
}

/** Notes, with a change of tokens, which rooms have to hear of it. */
export function * changed (rooms: Iterable<string>, now: number): Steps<void> {
  // Never a number from before, though the registry may have been taken back to an earlier day: a room would not listen.
  const version = String(Math.max(Number((yield * valueOf(VERSION)) ?? 0) + 1, now))
  yield * setValue(VERSION, version)
  for (const room of rooms) yield * setValue(BEHIND + room, version)
}

/** Rooms that have not heard of the newest change. */
export function * behind (): Steps<string[]> {
  const rows = yield * all(db.selectFrom('marks').select('name').where('name', '>=', BEHIND).where('name', '<', `${BEHIND}~`))
  return rows.map(({ name }) => name.slice(BEHIND.length))
}

/** A room has heard of everything up to a version. */
export function * caughtUp (room: string, version: number): Steps<void> {
  const value = yield * valueOf(BEHIND + room)
  if (value !== undefined && Number(value) <= version) yield * run(db.deleteFrom('marks').where('name', '=', BEHIND + room))
}
