import { PAGE_BYTES, type Message, type Note, type RoomEvent, type RoomFile, type RoomInfo, type TaskView } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { page, type Call, type Command } from '../call'
import { all, first, type Steps } from '../steps'
import { db } from '../tables'
import { messagesOf } from './chat'
import { COLUMNS, viewOf as fileOf } from './files'
import { eventOf, infoOf } from './log'
import { dependenciesOf, viewOf as taskOf } from './tasks-read'

const LIMIT = 200

/** One thing that a room holds, by what it is. Files are named; their bytes are fetched one by one. */
export type Exported =
  | { type: 'room', room: RoomInfo }
  | { type: 'task', task: TaskView & { body?: string } }
  | { type: 'note', note: Note & { task_id: number } }
  | { type: 'file', file: RoomFile }
  | { type: 'message', message: Message }
  | { type: 'event', event: RoomEvent }

/** In the order in which they are told. */
export const EXPORT_PARTS = ['room', 'tasks', 'notes', 'files', 'messages', 'events'] as const
export type ExportPart = typeof EXPORT_PARTS[number]

/** Where a page begins: behind the row `after` of a part. */
export interface ExportPlace { part: ExportPart, after: number }

type Rows = { items: Exported[], next?: number }

const { room, tasks, notes, files, messages, events }: { [P in ExportPart]: (call: Call, after: number) => Steps<Rows> } = {
  * room (call) {
    const row = yield * first(db.selectFrom('rooms').selectAll().where('name', '=', call.room))
    if (row === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(call.room)}.`)
    return { items: [{ type: 'room', room: infoOf(row) }] }
  },
  * tasks (call, after) {
    const rows = yield * all(db.selectFrom('tasks').selectAll().where('room', '=', call.room).where('id', '>', after).orderBy('id').limit(LIMIT + 1))
    const dependencies = yield * dependenciesOf(call.room, rows.map(({ id }) => id))
    const tasks = rows.map(row => ({ ...taskOf(row, dependencies.get(row.id)), ...(row.body !== null && { body: row.body }) }))
    return paged(tasks, task => ({ type: 'task', task }))
  },
  * notes (call, after) {
    const rows = yield * all(db.selectFrom('notes').select(['id', 'task_id', 'at', 'author', 'author_kind', 'body'])
      .where('room', '=', call.room).where('id', '>', after).orderBy('id').limit(LIMIT + 1))
    return paged(rows, note => ({ type: 'note', note }))
  },
  * files (call, after) {
    const rows = yield * all(db.selectFrom('files').select(COLUMNS)
      .where('room', '=', call.room).where('id', '>', after).orderBy('id').limit(LIMIT + 1))
    return paged(rows.map(fileOf), file => ({ type: 'file', file }))
  },
  * messages (call, after) {
    const rows = yield * all(db.selectFrom('messages').selectAll().where('room', '=', call.room).where('id', '>', after).orderBy('id').limit(LIMIT + 1))
    return paged(yield * messagesOf(call, rows), message => ({ type: 'message', message }))
  },
  * events (call, after) {
    const rows = yield * all(db.selectFrom('events').selectAll().where('room', '=', call.room).where('id', '>', after).orderBy('id').limit(LIMIT + 1))
    return paged(rows.map(eventOf), event => ({ type: 'event', event }))
  }
}
const READERS = { room, tasks, notes, files, messages, events }

function paged<T extends { id: number }> (rows: readonly T[], made: (row: T) => Exported): Rows {
  const { items, next } = page(rows, LIMIT, PAGE_BYTES)
  return { items: items.map(made), ...(next !== undefined && { next }) }
}

/** A page of all that a room holds, from a place on. Moves no cursor, and is nobody's sign of life. @throws ROOM_NOT_FOUND */
export const exportRoom: Command<ExportPlace, { items: Exported[], next?: ExportPlace }> = function * (call, { part, after }) {
  const { items, next } = yield * READERS[part](call, after)
  if (next !== undefined) return { items, next: { part, after: next } }
  const following = EXPORT_PARTS[EXPORT_PARTS.indexOf(part) + 1]
  return { items, ...(following !== undefined && { next: { part: following, after: 0 } }) }
}
