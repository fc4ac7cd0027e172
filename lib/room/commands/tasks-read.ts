import { sql } from 'kysely'
import { PAGE_BYTES, type Note, type Task, type TaskStatus, type TaskView } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { append, bytesOf, enter, given, iso, page, type Call, type Command, type NewEvent } from '../call'
import { all, first, type Steps } from '../steps'
import { db, taskRoom, type TasksTable } from '../tables'
import { lapse, type TaskDecision } from '../tasks'

// Tasks as they are read, which is also when a lease that is over lapses.

const PAGE = 100
/** How many notes are read at once, newest first. */
const NOTES = 50
const OPEN: readonly TaskStatus[] = ['pending', 'in_progress', 'blocked']

/** Saves what the lifecycle decided, with its event. Returns the task as it now is. */
export function * settle (call: Call, task: TasksTable, decision: TaskDecision, more: Pick<NewEvent, 'actor' | 'concerns'> = {}): Steps<TasksTable> {
  const { change, event } = decision
  const after = { ...task, ...change, updated_at: iso(call.now) }
  const { room: _room, id: _id, ...columns } = after
  const saved = yield * first(db.updateTable('tasks').set(columns)
    .where('room', '=', task.room).where('id', '=', task.id).where('version', '=', task.version).returning('id'))
  // Somebody was faster, where the engine lets two in at once: the whole command is decided again.
  if (saved === undefined) throw new ReadyroomError('STALE_WRITE', `Task ${task.id} changed meanwhile.`)
  yield * append(call, { ...event, ...more, task_id: task.id, ...(after.ticket_id !== task.ticket_id && given('ticket_id', after.ticket_id)) })
  return after
}

/** The task as it is now: a lease that is over has lapsed, whoever looks first. @throws TASK_NOT_FOUND */
export function * taskAt (call: Call, id: number): Steps<TasksTable> {
  const row = yield * first(db.selectFrom('tasks').selectAll().where('room', '=', call.room).where('id', '=', id))
  if (row === undefined) throw new ReadyroomError('TASK_NOT_FOUND', `There is no task ${id} in the room ${call.room}.`)
  return yield * lapsed(call, row)
}

function * lapsed (call: Call, row: TasksTable): Steps<TasksTable> {
  const decision = lapse(row, call.now)
  if (decision === undefined) return row
  return yield * settle(call, row, decision, { actor: { name: 'system', kind: 'system' }, concerns: [row.owner!] })
}

/** Lets every lease of the room lapse that is over. */
export function * lapseDue (call: Call): Steps<void> {
  const due = yield * all(db.selectFrom('tasks').selectAll()
    .where(taskRoom, '=', call.room).where('lease_until', 'is not', null).where('lease_until', '<=', iso(call.now)))
  for (const row of due) yield * lapsed(call, row)
}

export function * dependenciesOf (room: string, ids: readonly number[]): Steps<Map<number, number[]>> {
  const byTask = new Map<number, number[]>()
  if (ids.length === 0) return byTask
  const rows = yield * all(db.selectFrom('dependencies').select(['task_id', 'depends_on'])
    .where('room', '=', room).where('task_id', 'in', ids).orderBy('task_id').orderBy('depends_on'))
  for (const { task_id: id, depends_on: other } of rows) byTask.set(id, [...byTask.get(id) ?? [], other])
  return byTask
}

/** What a task depends on and is not done. */
export function * unfinished (room: string, id: number): Steps<number[]> {
  const rows = yield * all(db.selectFrom('dependencies').innerJoin('tasks', join => join
    .onRef('tasks.room', '=', 'dependencies.room').onRef('tasks.id', '=', 'dependencies.depends_on'))
    .select('tasks.id').where('dependencies.room', '=', room).where('dependencies.task_id', '=', id)
    .where('tasks.status', '<>', 'done').orderBy('dependencies.depends_on'))
  return rows.map(row => row.id)
}

export const viewOf = (row: TasksTable, dependencies: number[] | undefined): TaskView => ({
  id: row.id,
  title: row.title,
  status: row.status,
  ...given('owner', row.owner),
  version: row.version,
  ...given('depends_on', dependencies),
  ...given('ticket_id', row.ticket_id),
  ...given('lease_until', row.lease_until),
  created_by: row.created_by,
  created_at: row.created_at,
  updated_at: row.updated_at
})

const notesAt = (room: string, ids: readonly number[]) => all(db.selectFrom('notes').select(['id', 'at', 'author', 'author_kind', 'body'])
  .where('room', '=', room).where('id', 'in', ids).orderBy('id', 'desc'))

/** A task with its body and as many of its newest notes as a result page holds. */
export function * whole (call: Call, row: TasksTable): Steps<Task> {
  const dependencies = yield * dependenciesOf(call.room, [row.id])
  // The ids alone are in the index of the task's notes: of other tasks' notes none is read, and of these what is shown.
  const ids = yield * all(db.selectFrom('notes').select('id').where('room', '=', call.room).where('task_id', '=', row.id).orderBy('id', 'desc'))
  const fit: Note[] = []
  let size = bytesOf(row.body ?? '')
  for (let from = 0; from < ids.length && size <= PAGE_BYTES; from += NOTES) {
    for (const note of yield * notesAt(call.room, ids.slice(from, from + NOTES).map(({ id }) => id))) {
      size += bytesOf(JSON.stringify(note))
      if (size > PAGE_BYTES) break
      fit.unshift(note)
    }
  }
  const omitted = ids.length - fit.length
  return { ...viewOf(row, dependencies.get(row.id)), ...given('body', row.body), notes: fit, ...(omitted > 0 && { notes_omitted: omitted }) }
}

/** @throws TASK_NOT_FOUND */
export const getTask: Command<{ task_id: number }, Task> = function * (call, { task_id: id }) {
  yield * enter(call)
  return yield * whole(call, yield * taskAt(call, id))
}

/** What the task of the query around it depends on and is not done. */
const waitingFor = (room: string) => db.selectFrom('dependencies')
  .innerJoin('tasks as other', join => join.onRef('other.room', '=', 'dependencies.room').onRef('other.id', '=', 'dependencies.depends_on'))
  .select('other.id')
  .where('dependencies.room', '=', room).where('other.status', '<>', 'done')
  .where('dependencies.task_id', '=', sql.ref<number>('tasks.id'))

/** Which of these tasks depend on something that is not done. */
function * waitingAmong (room: string, ids: readonly number[]): Steps<Set<number>> {
  if (ids.length === 0) return new Set()
  const rows = yield * all(db.selectFrom('tasks').select('id').where('room', '=', room).where('id', 'in', ids).where(({ exists }) => exists(waitingFor(room))))
  return new Set(rows.map(({ id }) => id))
}

export interface ListTasksInput { status?: TaskStatus | 'open' | 'ready', assignee?: string, since_id?: number, limit?: number }

/** Tasks in order of their ids. `open`: neither done nor cancelled. `ready`: pending, with all it depends on done. */
export const listTasks: Command<ListTasksInput, { tasks: TaskView[], next?: number }> = function * (call, input) {
  yield * enter(call)
  yield * lapseDue(call)
  const { room, actor } = call
  const { status, assignee, since_id: since, limit = PAGE } = input
  // The ids alone are in the index of what stands how: a board of many that are done is not read for the few that are not.
  let query = db.selectFrom('tasks').select('id').where('room', '=', room)
  // In the order of the key SQLite would read the whole board; as an expression the order is nothing to go by.
  const order = status === 'open' ? sql<number>`tasks.id + 0` : 'id' as const
  if (status === 'open') query = query.where('status', 'in', OPEN)
  else if (status === 'ready') query = query.where('status', '=', 'pending').where(({ not, exists }) => not(exists(waitingFor(room))))
  else if (status !== undefined) query = query.where('status', '=', status)
  if (assignee !== undefined) query = query.where('owner', '=', assignee === 'me' ? actor.name : assignee.toLowerCase())
  if (since !== undefined) query = query.where('id', '>', since)
  const ids = (yield * all(query.orderBy(order).limit(limit + 1))).map(({ id }) => id)
  const rows = ids.length === 0 ? [] : yield * all(db.selectFrom('tasks').selectAll().where('room', '=', room).where('id', 'in', ids).orderBy('id'))
  const dependencies = yield * dependenciesOf(room, ids)
  const pending = rows.filter(row => row.status === 'pending').map(({ id }) => id)
  const waiting = status === 'ready' ? new Set<number>() : yield * waitingAmong(room, pending.filter(id => dependencies.has(id)))
  const { items, next } = page(rows.map(row => ({
    ...viewOf(row, dependencies.get(row.id)),
    ...(row.status === 'pending' && { ready: !waiting.has(row.id) })
  })), limit, PAGE_BYTES)
  return { tasks: items, ...given('next', next) }
}
