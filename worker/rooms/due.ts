import { sql } from 'kysely'
import type { Call } from '../../lib/room/call'
import { REMEMBERED_MS } from '../../lib/room/once'
import { all, first, run, type Steps } from '../../lib/room/steps'
import { db } from '../../lib/room/tables'
import { setValue, valueOf } from './mirror'

// What becomes due in a room by itself, and when. Times are in milliseconds since 1970.

const HEARD = 'heard:'
const SWEPT = 'swept_at'
const DAY_MS = 24 * 3_600_000

/** A sign of life is kept to the hour: more often it would cost a row with each call. */
export const HEARD_EVERY_MS = 3_600_000
/** How long nothing was kept of somebody who has been silent for a day. */
export const LEFT_MS = DAY_MS + HEARD_EVERY_MS

export interface Keeping {
  /** Whether what is over is taken away. Leases end, and agents leave, all the same. */
  prune: boolean
  /** Between two rounds. */
  intervalMs: number
}

/** When somebody was last heard of, as far as it is kept. */
export function * heardAt (agent: string): Steps<number | undefined> {
  const at = yield * valueOf(HEARD + agent)
  return at === undefined ? undefined : Number(at)
}

export function * setHeard (agent: string, at: number): Steps<void> { yield * setValue(HEARD + agent, String(at)) }

interface There { agent: string, heard: string | null }

/** Who is in the room, and when they were heard of. */
function * present (room: string): Steps<There[]> {
  return yield * all(db.selectFrom('cursors').leftJoin('marks', join => join.on('marks.name', '=', sql<string>`${HEARD} || cursors.agent`))
    .select(['cursors.agent', 'marks.value as heard']).where('room', '=', room).where('gone', '=', 0))
}

/** Of whom something was heard within the last day. What was kept of those who have left is taken away. */
export function * hereAt ({ room, now }: Call): Steps<string[]> {
  const here: string[] = []
  const names = new Set<string>()
  for (const { agent, heard } of yield * present(room)) {
    if (heard !== null && Number(heard) > now - LEFT_MS) {
      here.push(agent)
      names.add(HEARD + agent)
    }
  }
  const kept = yield * all(db.selectFrom('marks').select('name').where('name', '>=', HEARD).where('name', '<', `${HEARD}~`))
  for (const { name } of kept) if (!names.has(name)) yield * run(db.deleteFrom('marks').where('name', '=', name))
  return here
}

/** When the next lease ends. Undefined where none runs. */
export function * leaseDue (): Steps<number | undefined> {
  const row = yield * first(db.selectFrom('tasks').select('lease_until').where('lease_until', 'is not', null).orderBy('lease_until').limit(1))
  return row === undefined ? undefined : Date.parse(row.lease_until!)
}

/** When the next round has something to do. Undefined where nothing becomes due by itself. */
export function * roundDue ({ room, now }: Call, { prune, intervalMs }: Keeping): Steps<number | undefined> {
  const due: number[] = []
  for (const { agent, heard } of yield * present(room)) {
    // From before such signs were kept: they have from now on to be heard of.
    if (heard === null) yield * setHeard(agent, now)
    due.push((heard === null ? now : Number(heard)) + LEFT_MS)
  }
  const call = yield * first(db.selectFrom('done_calls').select('at').orderBy('at').limit(1))
  if (call !== undefined) due.push(Date.parse(call.at) + REMEMBERED_MS)
  if (prune) due.push(...yield * pruneDue(room))
  if (due.length === 0) return undefined
  const swept = Number((yield * valueOf(SWEPT)) ?? 0)
  return Math.max(Math.min(...due), swept === 0 ? 0 : swept + intervalMs)
}

function * pruneDue (room: string): Steps<number[]> {
  const due: number[] = []
  const file = yield * first(db.selectFrom('files').select('expires_at').where('expires_at', 'is not', null).orderBy('expires_at').limit(1))
  if (file !== undefined) due.push(Date.parse(file.expires_at!))
  const row = yield * first(db.selectFrom('rooms').select('retention_days').where('name', '=', room))
  const days = row?.retention_days ?? 0
  if (days === 0) return due
  const oldest = [
    yield * first(db.selectFrom('messages').select('at').where('room', '=', room).orderBy('at').limit(1)),
    yield * first(db.selectFrom('events').select('at').where('room', '=', room).orderBy('at').limit(1)),
    yield * first(db.selectFrom('files').select('at').where('room', '=', room).orderBy('id').limit(1))
  ]
  // A sweep takes what is older, and not what is just as old.
  for (const one of oldest) if (one !== undefined) due.push(Date.parse(one.at) + days * DAY_MS + 1)
  return due
}

/** A round is over. */
export function * setSwept (now: number): Steps<void> { yield * setValue(SWEPT, String(now)) }

/** The room of this object. Undefined where there is none any more. */
export function * roomName (): Steps<string | undefined> {
  return (yield * first(db.selectFrom('rooms').select('name').limit(1)))?.name
}
