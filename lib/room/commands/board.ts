import { NOTE_BYTES, TASK_BODY_BYTES, type Task, type TaskStatus } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { spend } from './attention'
import { append, checkText, enter, iso, nextId, type Call, type Command } from '../call'
import { calledIn } from '../members'
import { mentionsIn } from '../names'
import { all, first, run, type Steps } from '../steps'
import { db, type TasksTable } from '../tables'
import { checkVersion, claim, cycleOf, release, setStatus } from '../tasks'
import { indexText } from '../texts'
import { settle, taskAt, unfinished, whole } from './tasks-read'

export interface CreateTaskInput { title: string, body?: string, depends_on?: readonly number[], claim?: boolean, ticket_id?: string }

/** @throws TASK_NOT_FOUND for a dependency that is not there. @throws TASK_NOT_READY for a claim before they are done. */
export const createTask: Command<CreateTaskInput, Task> = function * (call, input) {
  yield * enter(call)
  const { room, actor, now } = call
  const body = input.body === undefined ? null : checkText(input.body, 'body', TASK_BODY_BYTES)
  checkText(input.title, 'title', TASK_BODY_BYTES)
  const dependencies = [...new Set(input.depends_on ?? [])]
  for (const id of dependencies) yield * taskAt(call, id)
  const id = yield * nextId(call, 'task_seq')
  const at = iso(now)
  let row: TasksTable = {
    room,
    id,
    title: input.title,
    body,
    status: input.ticket_id === undefined ? 'pending' : 'blocked',
    owner: input.ticket_id !== undefined && input.claim === true ? actor.name : null,
    version: 1,
    created_by: actor.name,
    created_at: at,
    updated_at: at,
    ticket_id: input.ticket_id ?? null,
    freed_by: null,
    lease_seconds: null,
    lease_until: null
  }
  yield * run(db.insertInto('tasks').values(row))
  for (const other of dependencies) yield * run(db.insertInto('dependencies').values({ room, task_id: id, depends_on: other }))
  yield * indexText(room, 'task', id, body === null ? input.title : `${input.title}\n${body}`)
  const mentions = mentionsIn(`${input.title}\n${body ?? ''}`, yield * calledIn(room)).filter(name => name !== actor.name)
  const { within } = yield * spend(call, mentions)
  yield * append(call, { kind: 'task_created', task_id: id, body: input.title, concerns: within })
  if (input.claim === true && input.ticket_id === undefined) {
    row = yield * settle(call, row, claim(row, actor, now, yield * unfinished(room, id), null)!)
  }
  return yield * whole(call, row)
}

export interface ClaimTaskInput { task_id: number, lease_seconds?: number }

/** One guarded update: of all who claim at once, one has it. @throws TASK_NOT_FOUND, TASK_NOT_OWNED, TASK_NOT_READY */
export const claimTask: Command<ClaimTaskInput, Task> = function * (call, { task_id: id, lease_seconds: lease = null as number | null }) {
  yield * enter(call)
  const row = yield * taskAt(call, id)
  const decision = claim(row, call.actor, call.now, yield * unfinished(call.room, id), lease)
  return yield * whole(call, decision === undefined ? row : yield * settle(call, row, decision))
}

export interface UpdateTaskInput {
  task_id: number
  status?: TaskStatus
  body?: string
  note?: string
  expected_version?: number
  /** The caller's own ticket in this room; whose it is has been checked. */
  ticket_id?: string
  depends_on?: readonly number[]
  /** The revision in which the ticket was seen to be pending. */
  ticket_rev?: number
  /** The ticket is in no room: where rooms live apart from the tickets, it is noted that somebody here waits for it. */
  of_no_room?: true
}

/**
 * @throws STALE_WRITE when the room was told of the ticket's end since it was seen.
 * @throws TASK_NOT_FOUND, TASK_NOT_OWNED. @throws TASK_CHANGED with the task as it now is. @throws BAD_REQUEST for a cycle.
 */
export const updateTask: Command<UpdateTaskInput, Task> = function * (call, input) {
  yield * enter(call)
  const { room, actor } = call
  let row = yield * taskAt(call, input.task_id)
  checkVersion(row, input.expected_version)
  if (input.ticket_id !== undefined && input.status === undefined) {
    throw new ReadyroomError('BAD_REQUEST', 'ticket_id goes with status blocked: it is what the task waits for.')
  }
  if (input.ticket_id !== undefined && input.ticket_rev !== undefined) {
    // What was told before anybody waited for it is not told again.
    const told = yield * first(db.selectFrom('deliveries').select('rev').where('ticket_id', '=', input.ticket_id).where('rev', '>', input.ticket_rev))
    if (told !== undefined) throw new ReadyroomError('STALE_WRITE', `Ticket ${input.ticket_id} changed meanwhile.`)
  }
  if (input.depends_on !== undefined) row = yield * setDependencies(call, row, input.depends_on)
  if (input.body !== undefined) {
    const body = checkText(input.body, 'body', TASK_BODY_BYTES)
    if (row.owner !== actor.name && row.created_by !== actor.name && !actor.admin) {
      throw new ReadyroomError('TASK_NOT_OWNED', `Only ${row.owner ?? row.created_by}, its author or an admin changes the text of task ${row.id}; add a note instead.`)
    }
    row = yield * settle(call, { ...row, body }, { change: { version: row.version + 1 }, event: { kind: 'task_updated', body: 'body' } })
    yield * indexText(room, 'task', row.id, `${row.title}\n${body}`)
  }
  if (input.status !== undefined) {
    const decision = setStatus(row, input.status, actor, input.ticket_id)
    if (decision !== undefined) row = yield * settle(call, row, decision)
  }
  if (input.note !== undefined) yield * note(call, row, input.note)
  return yield * whole(call, row)
}

function * setDependencies (call: Call, row: TasksTable, wanted: readonly number[]): Steps<TasksTable> {
  const { room, actor } = call
  if (row.owner !== actor.name && row.created_by !== actor.name && !actor.admin) {
    throw new ReadyroomError('TASK_NOT_OWNED', `Only ${row.owner ?? row.created_by}, its author or an admin changes what task ${row.id} depends on.`)
  }
  const others = [...new Set(wanted)]
  for (const id of others) yield * taskAt(call, id)
  const known = new Map<number, number[]>()
  for (const { task_id: id, depends_on: other } of yield * all(db.selectFrom('dependencies').select(['task_id', 'depends_on']).where('room', '=', room))) {
    known.set(id, [...known.get(id) ?? [], other])
  }
  known.set(row.id, others)
  const cycle = cycleOf(row.id, id => known.get(id) ?? [])
  if (cycle !== undefined) throw new ReadyroomError('BAD_REQUEST', `depends_on would make a circle: ${cycle.map(id => `task ${id}`).join(', then ')}.`)
  yield * run(db.deleteFrom('dependencies').where('room', '=', room).where('task_id', '=', row.id))
  for (const other of others) yield * run(db.insertInto('dependencies').values({ room, task_id: row.id, depends_on: other }))
  return yield * settle(call, row, { change: { version: row.version + 1 }, event: { kind: 'task_updated', body: 'depends_on' } })
}

export interface ReleaseTaskInput { task_id: number, reason?: string }

/** Hands a task back, for anybody to claim. Twice is fine. @throws TASK_NOT_FOUND, TASK_NOT_OWNED */
export const releaseTask: Command<ReleaseTaskInput, Task> = function * (call, { task_id: id, reason }) {
  yield * enter(call)
  const row = yield * taskAt(call, id)
  const decision = release(row, call.actor, reason === undefined ? undefined : checkText(reason, 'reason', NOTE_BYTES))
  return yield * whole(call, decision === undefined ? row : yield * settle(call, row, decision))
}

/** A note under a task, by its caller or by the server itself. */
export function * note (call: Call, row: TasksTable, text: string, by?: { name: string, kind: 'system' }): Steps<number> {
  const body = checkText(text, 'note', NOTE_BYTES)
  const author = by ?? call.actor
  const id = yield * nextId(call, 'note_seq')
  yield * run(db.insertInto('notes').values({ room: call.room, id, task_id: row.id, at: iso(call.now), author: author.name, author_kind: author.kind, body }))
  yield * indexText(call.room, 'note', id, body)
  const mentions = mentionsIn(body, yield * calledIn(call.room))
  const called = [...new Set([...row.owner === null ? [] : [row.owner], ...mentions])].filter(name => name !== author.name)
  const concerns = by === undefined ? (yield * spend(call, called)).within : called
  yield * append(call, { kind: 'task_noted', task_id: row.id, body, concerns, ...(by && { actor: by }) })
  return id
}

export interface AddNoteInput { task_id: number, body: string }

/** @throws TASK_NOT_FOUND */
export const addNote: Command<AddNoteInput, { id: number, task_id: number }> = function * (call, { task_id: id, body }) {
  yield * enter(call)
  return { id: yield * note(call, yield * taskAt(call, id), body), task_id: id }
}
