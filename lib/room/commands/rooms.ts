import type { RoomInfo } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { append, checkText, enter, iso, type Command } from '../call'
import { readName } from '../names'
import { all, first, one, run } from '../steps'
import { db } from '../tables'
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
