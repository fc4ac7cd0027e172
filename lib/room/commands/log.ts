import type { Selectable } from 'kysely'
import { PAGE_BYTES, type RoomEvent, type RoomEventKind, type RoomInfo } from '../../../schemas/room'
import { enter, given, page, type Call, type Command } from '../call'
import { all, first, one, run, type Steps } from '../steps'
import { db, type EventsTable, type RoomsTable } from '../tables'

const PAGE = 100

export const eventOf = (row: EventsTable): RoomEvent => ({
  id: row.id,
  at: row.at,
  room: row.room,
  actor: row.actor,
  actor_kind: row.actor_kind,
  kind: row.kind,
  ...given('message_id', row.message_id),
  ...given('task_id', row.task_id),
  ...given('file_id', row.file_id),
  ...given('ticket_id', row.ticket_id),
  ...given('body', row.body),
  ...given('concerns', row.concerns === null ? null : JSON.parse(row.concerns) as string[])
})

export const infoOf = (row: Selectable<RoomsTable>): RoomInfo => ({
  room: row.name,
  ...given('description', row.description),
  ...given('repo_url', row.repo_url),
  ...given('onboarding_notes', row.onboarding_notes),
  retention_days: row.retention_days,
  created_at: row.created_at
})

/** What others did after `through`, in order. Own events are left out: whoever did a thing knows of it. */
function * news (call: Call, through: number, limit: number): Steps<{ events: RoomEvent[], next?: number, head: number }> {
  const { room, actor } = call
  const { event_seq: head } = yield * one(db.selectFrom('rooms').select('event_seq').where('name', '=', room))
  const rows = yield * all(db.selectFrom('events').selectAll()
    .where('room', '=', room).where('id', '>', through).where('actor', '<>', actor.name).orderBy('id').limit(limit + 1))
  const { items, next } = page(rows.map(eventOf), limit, PAGE_BYTES)
  return { events: items, ...given('next', next), head }
}

function * moveCursor (call: Call, through: number, greeted: boolean): Steps<void> {
  yield * run(db.updateTable('cursors').set({ through, greeted: greeted ? 1 : 0 }).where('room', '=', call.room).where('agent', '=', call.actor.name))
}

export interface WhatsNew { events: RoomEvent[], more?: true, through: number, room_info?: RoomInfo }

/**
 * What came since the caller's cursor, and moves it there; a page that is cut moves it to its last event only. The first
 * one says what the room is.
 */
export const whatsNew: Command<object, WhatsNew> = function * (call) {
  const { through, greeted } = yield * enter(call)
  const { events, next, head } = yield * news(call, through, PAGE)
  const reached = next ?? head
  if (reached !== through || !greeted) yield * moveCursor(call, reached, true)
  const info = greeted ? undefined : infoOf(yield * one(db.selectFrom('rooms').selectAll().where('name', '=', call.room)))
  return { events, ...(next !== undefined && { more: true as const }), through: reached, ...given('room_info', info) }
}

export interface PeekInput { limit?: number, quiet?: boolean, since?: number }
export interface Peek { events: RoomEvent[], unread: number, through: number, more?: true }

/**
 * The same, without moving the cursor: for whoever shows it first and moves the cursor then. Counts exactly. `quiet`: it is
 * no sign of life of the caller, and renews no lease. `since`: only what came after that event, too, so that whoever asks
 * again and again reads no more than is new.
 */
export const peek: Command<PeekInput, Peek> = function * (call, { limit = PAGE, quiet = false, since = 0 }) {
  const cursor = yield * enter(call, !quiet)
  const through = Math.max(cursor.through, since)
  const { events, next, head } = yield * news(call, through, limit)
  const { count } = yield * one(db.selectFrom('events').select(({ fn }) => fn.countAll<number>().as('count'))
    .where('room', '=', call.room).where('id', '>', through).where('actor', '<>', call.actor.name))
  return { events, unread: count, through: next ?? head, ...(next !== undefined && { more: true as const }) }
}

/** Moves the caller's cursor forward; never back, and never past the end. */
export const commitCursor: Command<{ through: number }, { through: number }> = function * (call, { through: wanted }) {
  const { through, greeted } = yield * enter(call)
  const { event_seq: head } = yield * one(db.selectFrom('rooms').select('event_seq').where('name', '=', call.room))
  const reached = Math.max(through, Math.min(wanted, head))
  yield * moveCursor(call, reached, greeted)
  return { through: reached }
}

export interface ReadEventsInput { since_id?: number, limit?: number, kind?: RoomEventKind, task_id?: number }

/** The log from `since_id` on (from the beginning, without), own events too. Moves no cursor. */
export const readEvents: Command<ReadEventsInput, { events: RoomEvent[], next?: number }> = function * (call, input) {
  yield * enter(call)
  const { since_id: since = 0, limit = PAGE, kind, task_id: taskId } = input
  let query = db.selectFrom('events').selectAll().where('room', '=', call.room).where('id', '>', since)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (taskId !== undefined) query = query.where('task_id', '=', taskId)
  const rows = yield * all(query.orderBy('id').limit(limit + 1))
  const { items, next } = page(rows.map(eventOf), limit, PAGE_BYTES)
  return { events: items, ...given('next', next) }
}

export interface Replay { events: RoomEvent[], head: number }

/** For an event stream: events after `since`, and where the log ends. Nobody's sign of life; does not enter. */
export const replay: Command<{ since: number, limit: number }, Replay | undefined> = function * (call, { since, limit }) {
  const room = yield * first(db.selectFrom('rooms').select('event_seq').where('name', '=', call.room))
  if (room === undefined) return undefined
  const after = db.selectFrom('events').selectAll().where('room', '=', call.room).where('id', '>', since)
  const rows = yield * all(after.orderBy('id').limit(limit))
  return { events: rows.map(eventOf), head: room.event_seq }
}
