import { iso, type Call, type Command } from './call'
import { all, first, run, type Steps } from './steps'
import { db } from './tables'

/** How long the result of a call is remembered, in milliseconds: much longer than anybody sends it again. */
export const REMEMBERED_MS = 24 * 3_600_000
/** How many that are older go with each call that is remembered: no room gathers them, whoever sweeps it. */
const STEP = 5

/**
 * Runs a command, and, where its call has a key, remembers what came of it in the same transaction: sent again, the call
 * changes nothing and has the same result. What was refused changed nothing, and is not remembered.
 */
export function * once<Input, Output> (command: Command<Input, Output>, call: Call, input: Input, key: string | undefined): Steps<Output> {
  if (key === undefined) return yield * command(call, input)
  const done = yield * first(db.selectFrom('done_calls').select('result').where('key', '=', key))
  if (done !== undefined) return JSON.parse(done.result) as Output
  yield * forget(call, STEP)
  const result = yield * command(call, input)
  yield * run(db.insertInto('done_calls').values({ key, room: call.room, at: iso(call.now), result: JSON.stringify(result) }))
  return result
}

function * forget ({ now }: Call, limit: number): Steps<number> {
  const before = iso(now - REMEMBERED_MS)
  const old = yield * all(db.selectFrom('done_calls').select('key').where('at', '<', before).orderBy('at').limit(limit))
  if (old.length > 0) yield * run(db.deleteFrom('done_calls').where('key', 'in', old.map(({ key }) => key)))
  return old.length
}

/** Forgets calls of more than a day ago, at most `limit`. Says whether there may be more. */
export const forgetCalls: Command<{ limit: number }, { more: boolean }> = function * (call, { limit }) {
  return { more: (yield * forget(call, limit)) === limit }
}
