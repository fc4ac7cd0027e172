import type { Attention } from '../../../schemas/v1'
import { enter, iso, type Call, type Command } from '../call'
import { all, one, run, type Steps } from '../steps'
import { db } from '../tables'

// What it costs to be told of things: each wake-up and each injected turn is a turn that somebody pays for.

/** How often one agent may call another on one day, by whatever means, before it no longer wakes the other. */
export const CALL_BUDGET = 50
const DAYS = 7
const DAY_MS = 86_400_000

/** A day of UTC. */
const dayOf = (ms: number): string => iso(ms).slice(0, 10)

/**
 * Charges an agent for those it calls. Who is over the budget is not among `within`: two that answer each other without
 * an end stop waking each other. A person's call always counts, and costs no budget.
 */
export function * spend (call: Call, called: readonly string[]): Steps<{ within: string[], over: string[] }> {
  const { room, actor, now } = call
  const within: string[] = []
  const over: string[] = []
  for (const name of called) {
    if (actor.kind !== 'agent' && actor.kind !== 'admin') {
      within.push(name)
      continue
    }
    const { count } = yield * one(db.insertInto('calls').values({ room, day: dayOf(now), caller: actor.name, called: name, count: 1, over: 0 })
      .onConflict(conflict => conflict.columns(['room', 'day', 'caller', 'called']).doUpdateSet(({ ref, eb, lit }) => ({
        count: eb(ref('calls.count'), '+', 1),
        over: eb('calls.over', '+', eb.case().when('calls.count', '>=', CALL_BUDGET).then(lit(1)).else(lit(0)).end())
      }))).returning('count'))
    const list = count > CALL_BUDGET ? over : within
    list.push(name)
  }
  return { within, over }
}

/** The caller was woken, or had something put into a turn. No sign of work. @throws ROOM_NOT_FOUND */
export const noteAttention: Command<{ kind: 'wake' | 'inject', n?: number }, null> = function * (call, { kind, n = 1 }) {
  yield * enter(call, false)
  const [wakeups, injections] = kind === 'wake' ? [n, 0] : [0, n]
  yield * run(db.insertInto('attention').values({ room: call.room, agent: call.actor.name, day: dayOf(call.now), wakeups, injections })
    .onConflict(conflict => conflict.columns(['room', 'agent', 'day']).doUpdateSet(({ eb }) => ({
      wakeups: eb('attention.wakeups', '+', wakeups),
      injections: eb('attention.injections', '+', injections)
    }))))
  return null
}

/** What attention cost in the room, over the last days, this one included. @throws ROOM_NOT_FOUND */
export const attentionOf: Command<{ days?: number }, Attention> = function * (call, { days = DAYS }) {
  yield * enter(call, false)
  const { room, now } = call
  const from = dayOf(now - (days - 1) * DAY_MS)
  const agents = yield * all(db.selectFrom('attention').select(['day', 'agent', 'wakeups', 'injections'])
    .where('room', '=', room).where('day', '>=', from).orderBy('day', 'desc').orderBy('agent'))
  const pairs = yield * all(db.selectFrom('calls').select(['day', 'caller', 'called', 'count', 'over'])
    .where('room', '=', room).where('day', '>=', from).orderBy('day', 'desc').orderBy('count', 'desc').orderBy('caller').orderBy('called').limit(1_000))
  return { room, budget: CALL_BUDGET, agents, pairs }
}

/** What there is in all rooms together, and what attention cost in them today (UTC). */
export interface RoomsSummary { rooms: number, tokens: number, agents: number, wakeups: number, injections: number }

export const summary: Command<object, RoomsSummary> = function * ({ now }) {
  const { rooms } = yield * one(db.selectFrom('rooms').select(({ fn }) => fn.countAll<number>().as('rooms')))
  const { tokens } = yield * one(db.selectFrom('tokens').select(({ fn }) => fn.countAll<number>().as('tokens'))
    .where('revoked_at', 'is', null).where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', iso(now))])))
  const { agents } = yield * one(db.selectFrom('cursors').select(({ fn }) => fn.count<number>('agent').distinct().as('agents')).where('gone', '=', 0))
  const { wakeups, injections } = yield * one(db.selectFrom('attention')
    .select(({ fn }) => [fn.sum<number | null>('wakeups').as('wakeups'), fn.sum<number | null>('injections').as('injections')]).where('day', '=', dayOf(now)))
  return { rooms, tokens, agents, wakeups: wakeups ?? 0, injections: injections ?? 0 }
}
