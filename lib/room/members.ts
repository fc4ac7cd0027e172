import { all, type Steps } from './steps'
import { db } from './tables'

/** Every name that means an agent of this room, folded: those that hold a token for it, those that have been in it, and aliases. */
export function * calledIn (room: string): Steps<Map<string, string>> {
  const called = new Map<string, string>()
  for (const { agent } of yield * all(db.selectFrom('cursors').select('agent').where('room', '=', room))) called.set(agent, agent)
  const tokens = yield * all(db.selectFrom('tokens').select(['agent', 'home', 'rooms', 'all_rooms']).where('revoked_at', 'is', null))
  for (const { agent, home, rooms, all_rooms: everywhere } of tokens) {
    if (everywhere !== 0 || home === room || (JSON.parse(rooms) as string[]).includes(room)) called.set(agent, agent)
  }
  const aliases = yield * all(db.selectFrom('aliases').select(['alias', 'agent']).where('room', '=', room))
  for (const { alias, agent } of aliases) if (!called.has(alias)) called.set(alias, agent)
  return called
}
