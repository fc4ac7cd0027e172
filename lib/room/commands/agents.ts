import { ReadyroomError } from '../../errors'
import { enter, type Command } from '../call'
import { calledIn } from '../members'
import { all, first } from '../steps'
import { db } from '../tables'

/** Everybody who belongs to the room, by name, with the kind of principal that their token makes them. */
export const members: Command<object, { agents: Array<{ name: string, kind: 'agent' | 'observer' | 'approver' | 'admin' }> }> = function * (call) {
  yield * enter(call)
  const left = new Set((yield * all(db.selectFrom('cursors').select('agent').where('room', '=', call.room).where('gone', '=', 1))).map(({ agent }) => agent))
  const names = [...new Set((yield * calledIn(call.room)).values())].sort()
  const roles = new Map((yield * all(db.selectFrom('tokens').select(['agent', 'role']).where('revoked_at', 'is', null))).map(({ agent, role }) => [agent, role]))
  // Whoever has left and holds no token any more is folded away; who may come back is listed as gone.
  return { agents: names.filter(name => !left.has(name) || roles.has(name)).map(name => ({ name, kind: roles.get(name) ?? 'agent' })) }
}

/**
 * Lets an agent be called by another name in this room. Without an agent the alias is taken away.
 * @throws ROOM_NOT_FOUND. @throws BAD_REQUEST for the name of somebody with a token, who is called by it already.
 */
export const setAlias: Command<{ alias: string, agent?: string }, null> = function * (call, { alias, agent }) {
  const there = yield * first(db.selectFrom('rooms').select('name').where('name', '=', call.room))
  if (there === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(call.room)}.`)
  const holder = yield * first(db.selectFrom('tokens').select('agent').where('agent', '=', alias).where('revoked_at', 'is', null))
  if (agent !== undefined && holder !== undefined) {
    throw new ReadyroomError('BAD_REQUEST', `An alias may not be the name of an agent: ${alias} has a token, and is called by that name already.`)
  }
  yield (db.deleteFrom('aliases').where('room', '=', call.room).where('alias', '=', alias)).compile()
  if (agent !== undefined) yield db.insertInto('aliases').values({ room: call.room, alias, agent }).compile()
  return null
}
