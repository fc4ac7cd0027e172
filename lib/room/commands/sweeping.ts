import { append, type Call, type Command } from '../call'
import { all, first, type Steps } from '../steps'
import { db } from '../tables'
import { lapseDue } from './tasks-read'

const SYSTEM = { name: 'system', kind: 'system' } as const

/** Lets every lease of the call's room lapse that is over. */
export const lapseLeases: Command<object, null> = function * (call) {
  yield * lapseDue(call)
  return null
}

/** The leases that run, by the room in which the next one ends first. */
export const nextLease: Command<object, { room: string, at: string } | null> = function * () {
  const row = yield * first(db.selectFrom('tasks').select(['room', 'lease_until']).where('lease_until', 'is not', null).orderBy('lease_until').limit(1))
  return row === undefined ? null : { room: row.room, at: row.lease_until! }
}

/** Says once that somebody has left a room. What is heard of them later brings them back. */
export function * leave (call: Call, agent: string): Steps<boolean> {
  const [left] = yield * all(db.updateTable('cursors').set({ gone: 1 })
    .where('room', '=', call.room).where('agent', '=', agent).where('gone', '=', 0).returning('agent'))
  if (left === undefined) return false
  yield * append(call, { kind: 'agent_gone', actor: SYSTEM, body: agent })
  return true
}

/** Lets those leave of whom nothing was heard: everybody in the room but `here`. Says who left. */
export const leaveSilent: Command<{ here: readonly string[] }, { left: string[] }> = function * (call, { here }) {
  const present = new Set(here)
  const rows = yield * all(db.selectFrom('cursors').select('agent').where('room', '=', call.room).where('gone', '=', 0).orderBy('agent'))
  const left: string[] = []
  for (const { agent } of rows) if (!present.has(agent) && (yield * leave(call, agent))) left.push(agent)
  return { left }
}
