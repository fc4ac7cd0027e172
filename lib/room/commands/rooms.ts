import { sql } from 'kysely'
import type { RoomInfo } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { append, checkText, enter, iso, type Command } from '../call'
import { readName } from '../names'
import { all, first, one, run } from '../steps'
import { db } from '../tables'
import { forgetText } from '../texts'
import { infoOf } from './log'

const DESCRIPTION_BYTES = 4_096
const ADDRESS_BYTES = 2_048
const NOTES_BYTES = 16 * 1_024

/** Makes the room of the call. One that is there stays as it is. @throws BAD_REQUEST for a name that is none. */
export const addRoom: Command<object, RoomInfo> = function * (call) {
  const name = readName(call.room, 'A room')
  const there = yield * first(db.selectFrom('rooms').selectAll().where('name', '=', name))
  if (there !== undefined) return infoOf(there)
  yield * run(db.insertInto('rooms').values({ name, created_at: iso(call.now) }))
  return infoOf(yield * one(db.selectFrom('rooms').selectAll().where('name', '=', name)))
}

/** Every room, by name. */
export const listRooms: Command<object, { rooms: RoomInfo[] }> = function * () {
  return { rooms: (yield * all(db.selectFrom('rooms').selectAll().orderBy('name'))).map(infoOf) }
}

/** @throws ROOM_NOT_FOUND */
export const getRoomInfo: Command<object, RoomInfo> = function * (call) {
  yield * enter(call)
  return infoOf(yield * one(db.selectFrom('rooms').selectAll().where('name', '=', call.room)))
}

export interface RoomInfoInput { description?: string, repo_url?: string, onboarding_notes?: string }

/** Sets what is given; an empty text takes it away. @throws ROOM_NOT_FOUND. @throws BAD_REQUEST for an address that is no web address. */
export const setRoomInfo: Command<RoomInfoInput, RoomInfo> = function * (call, input) {
  yield * enter(call)
  const limits = { description: DESCRIPTION_BYTES, repo_url: ADDRESS_BYTES, onboarding_notes: NOTES_BYTES } as const
  const set: Partial<Record<keyof typeof limits, string | null>> = {}
  for (const [field, limit] of Object.entries(limits) as Array<[keyof typeof limits, number]>) {
    const text = input[field]
    if (text !== undefined) set[field] = text === '' ? null : checkText(text, field, limit)
  }
  if (input.repo_url && !/^https?:$/.test(URL.parse(input.repo_url)?.protocol ?? '')) {
    throw new ReadyroomError('BAD_REQUEST', `repo_url must be an address that begins with https:// or http://; got ${JSON.stringify(input.repo_url.slice(0, 100))}.`)
  }
  if (Object.keys(set).length > 0) {
    yield * run(db.updateTable('rooms').set(set).where('name', '=', call.room))
    yield * append(call, { kind: 'room_updated', body: Object.keys(set).join(', ') })
  }
  return infoOf(yield * one(db.selectFrom('rooms').selectAll().where('name', '=', call.room)))
}

/** For how many days the room keeps chat, events and files. @throws ROOM_NOT_FOUND */
export const setRetention: Command<{ days: number }, RoomInfo> = function * (call, { days }) {
  yield * enter(call)
  yield * run(db.updateTable('rooms').set({ retention_days: days }).where('name', '=', call.room))
  yield * append(call, { kind: 'room_updated', body: `retention_days ${days}` })
  return infoOf(yield * one(db.selectFrom('rooms').selectAll().where('name', '=', call.room)))
}

/** The room and all that is in it. @throws ROOM_NOT_FOUND. @throws BAD_REQUEST unless its name is given once more. */
export const deleteRoom: Command<{ confirm: string }, { room: string, deleted: true }> = function * (call, { confirm }) {
  const { room } = call
  const there = yield * first(db.selectFrom('rooms').select('name').where('name', '=', room))
  if (there === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(room)}.`)
  if (confirm !== room) throw new ReadyroomError('BAD_REQUEST', `Deleting a room cannot be undone: confirm must be its name, ${JSON.stringify(room)}.`)
  yield sql`DELETE FROM texts WHERE rowid IN (SELECT row FROM text_rows WHERE room = ${room})`.compile(db)
  for (const table of OF_A_ROOM) yield * run(db.deleteFrom(table).where('room', '=', room))
  yield * run(db.deleteFrom('rooms').where('name', '=', room))
  return { room, deleted: true }
}

const OF_A_ROOM = [
  'text_rows', 'aliases', 'messages', 'acks', 'tasks', 'dependencies', 'notes', 'files', 'events', 'cursors', 'attention', 'calls', 'done_calls'
] as const

/**
 * Takes away what is older than the room keeps: chat, events and files together, at most `limit` of each. Says whether there
 * may be more. Tasks stay, and the audit log of the tickets is somewhere else.
 */
export const sweepRoom: Command<{ limit: number }, { more: boolean }> = function * (call, { limit }) {
  const { room } = call
  const row = yield * first(db.selectFrom('rooms').select('retention_days').where('name', '=', room))
  if (row === undefined || row.retention_days === 0) return { more: false }
  const before = iso(call.now - row.retention_days * 86_400_000)
  const messages = yield * all(db.selectFrom('messages').select('id').where('room', '=', room).where('at', '<', before).orderBy('at').limit(limit))
  for (const { id } of messages) yield * forgetText(room, 'message', id)
  const ids = messages.map(({ id }) => id)
  if (ids.length > 0) {
    yield * run(db.deleteFrom('messages').where('room', '=', room).where('id', 'in', ids))
    yield * run(db.deleteFrom('acks').where('room', '=', room).where('message_id', 'in', ids))
  }
  const events = yield * all(db.selectFrom('events').select('id').where('room', '=', room).where('at', '<', before).orderBy('at').limit(limit))
  if (events.length > 0) yield * run(db.deleteFrom('events').where('room', '=', room).where('id', 'in', events.map(({ id }) => id)))
  const files = yield * all(db.selectFrom('files').select(['id', 'size']).where('room', '=', room).where('at', '<', before).orderBy('at').limit(limit))
  for (const { id, size } of files) {
    yield * run(db.deleteFrom('files').where('room', '=', room).where('id', '=', id))
    yield * run(db.updateTable('rooms').set(set => ({ file_bytes: set('file_bytes', '-', size) })).where('name', '=', room))
    yield * forgetText(room, 'file', id)
  }
  return { more: messages.length === limit || events.length === limit || files.length === limit }
}
