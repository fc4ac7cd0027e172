import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { PAGE_BYTES, type RoomFile } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { append, enter, given, iso, nextId, page, type Call, type Command } from '../call'
import { all, first, one, run, type Steps } from '../steps'
import { db, type FilesTable } from '../tables'
import { forgetText, indexText } from '../texts'

const PAGE = 100
/** What one page of a file holds, in bytes: its base64 fits in a result page. */
const FILE_PAGE_BYTES = 45 * 1_024
/** What the files of one room may hold together, in bytes. */
const ROOM_FILE_BYTES = 256 * 1_024 * 1_024
const SYSTEM = { name: 'system', kind: 'system' } as const

type Row = Omit<FilesTable, 'content'>
export const COLUMNS = ['room', 'id', 'name', 'mime', 'size', 'sha256', 'author', 'at', 'expires_at'] as const

export const viewOf = (row: Row): RoomFile => ({
  id: row.id,
  name: row.name,
  mime: row.mime,
  size: row.size,
  sha256: row.sha256,
  author: row.author,
  at: row.at,
  ...given('expires_at', row.expires_at)
})

export interface PutFileInput {
  name: string
  content_base64: string
  mime?: string
  expires_in_hours?: number
  /** What a file may hold, in bytes: the server's setting. */
  max_bytes: number
}

/** The bytes of a base64 text, with or without its padding. @throws BAD_REQUEST */
function bytesOf (base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64.replace(/\s+/g, '')), letter => letter.charCodeAt(0))
  } catch {
    throw new ReadyroomError('BAD_REQUEST', 'content_base64 is not base64.')
  }
}

/** @throws BAD_REQUEST over the limit of a file. @throws ROOM_FULL over that of the room. */
export const putFile: Command<PutFileInput, RoomFile> = function * (call, input) {
  yield * enter(call)
  const { room, actor, now } = call
  const content = bytesOf(input.content_base64)
  if (content.length > input.max_bytes) {
    throw new ReadyroomError('BAD_REQUEST',
      `A file may have at most ${input.max_bytes.toLocaleString('en-US')} bytes; got ${content.length.toLocaleString('en-US')}. Put it into version control and post where it is.`)
  }
  // eslint-disable-next-line no-control-regex -- these are what a name may not have
  if (/[\x00-\x1f\x7f/\\]/.test(input.name) || /^\.{0,2}$/.test(input.name.trim())) {
    throw new ReadyroomError('BAD_REQUEST', `name must be the name of a file, without folders or control characters; got ${JSON.stringify(input.name)}.`)
  }
  const { file_bytes: held } = yield * one(db.selectFrom('rooms').select('file_bytes').where('name', '=', room))
  if (held + content.length > ROOM_FILE_BYTES) {
    throw new ReadyroomError('ROOM_FULL', `The files of the room ${room} hold ${held.toLocaleString('en-US')} bytes, and may hold ${ROOM_FILE_BYTES.toLocaleString('en-US')}. Delete some.`)
  }
  const id = yield * nextId(call, 'file_seq')
  const row: FilesTable = {
    room,
    id,
    name: input.name,
    mime: input.mime ?? 'application/octet-stream',
    size: content.length,
    sha256: bytesToHex(sha256(content)),
    author: actor.name,
    at: iso(now),
    expires_at: input.expires_in_hours === undefined ? null : iso(now + Math.round(input.expires_in_hours * 3_600_000)),
    content
  }
  yield * run(db.insertInto('files').values(row))
  yield * run(db.updateTable('rooms').set({ file_bytes: held + content.length }).where('name', '=', room))
  yield * indexText(room, 'file', id, input.name)
  yield * append(call, { kind: 'file_put', file_id: id, body: input.name })
  return viewOf(row)
}

/** The file, unless it has expired: it cannot be read from that moment on, swept or not. @throws FILE_NOT_FOUND */
function * fileAt (call: Call, id: number): Steps<Row> {
  const row = yield * first(db.selectFrom('files').select(COLUMNS).where('room', '=', call.room).where('id', '=', id))
  if (row === undefined || (row.expires_at !== null && row.expires_at <= iso(call.now))) {
    throw new ReadyroomError('FILE_NOT_FOUND', `There is no file ${id} in the room ${call.room}${row === undefined ? '' : ' any more: it has expired'}.`)
  }
  return row
}

export interface GetFileInput { file_id: number, offset?: number, length?: number }
export type FilePage = RoomFile & { offset: number, content_base64: string, next?: number }

/** A page of a file's bytes. @throws FILE_NOT_FOUND */
export const getFile: Command<GetFileInput, FilePage> = function * (call, { file_id: id, offset = 0, length = FILE_PAGE_BYTES }) {
  yield * enter(call)
  const row = yield * fileAt(call, id)
  const { content } = yield * one(db.selectFrom('files').select('content').where('room', '=', call.room).where('id', '=', id))
  const end = Math.min(row.size, offset + Math.min(length, FILE_PAGE_BYTES))
  const bytes = content.subarray(offset, Math.max(offset, end))
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return { ...viewOf(row), offset, content_base64: btoa(binary), ...(end < row.size && { next: end }) }
}

/** All of a file, for a download. @throws FILE_NOT_FOUND */
export const readFile: Command<{ file_id: number }, { file: RoomFile, content: Uint8Array }> = function * (call, { file_id: id }) {
  const row = yield * fileAt(call, id)
  const { content } = yield * one(db.selectFrom('files').select('content').where('room', '=', call.room).where('id', '=', id))
  return { file: viewOf(row), content }
}

/** @throws FILE_NOT_FOUND */
export const listFiles: Command<{ since_id?: number, limit?: number }, { files: RoomFile[], next?: number }> = function * (call, input) {
  yield * enter(call)
  const { since_id: since = 0, limit = PAGE } = input
  const rows = yield * all(db.selectFrom('files').select(COLUMNS)
    .where('room', '=', call.room).where('id', '>', since)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', iso(call.now))]))
    .orderBy('id').limit(limit + 1))
  const { items, next } = page(rows.map(viewOf), limit, PAGE_BYTES)
  return { files: items, ...given('next', next) }
}

function * remove (call: Call, { id, size, name }: Row, kind: 'file_deleted' | 'file_expired'): Steps<void> {
  yield * run(db.deleteFrom('files').where('room', '=', call.room).where('id', '=', id))
  yield * run(db.updateTable('rooms').set(set => ({ file_bytes: set('file_bytes', '-', size) })).where('name', '=', call.room))
  yield * forgetText(call.room, 'file', id)
  yield * append(call, { kind, file_id: id, body: name, ...(kind === 'file_expired' && { actor: SYSTEM }) })
}

/** @throws FILE_NOT_FOUND. @throws FORBIDDEN_ROOM unless it is the caller's, or the caller administers the room. */
export const deleteFile: Command<{ file_id: number }, { file_id: number, deleted: true }> = function * (call, { file_id: id }) {
  yield * enter(call)
  const row = yield * fileAt(call, id)
  if (row.author !== call.actor.name && !call.actor.admin) {
    throw new ReadyroomError('FORBIDDEN_ROOM', `File ${id} is ${row.author}'s; only ${row.author} or an admin of the room deletes it.`)
  }
  yield * remove(call, row, 'file_deleted')
  return { file_id: id, deleted: true }
}

/** Takes away expired files of the call's room, at most `limit`. Says whether there may be more. */
export const sweepFiles: Command<{ limit: number }, { more: boolean }> = function * (call, { limit }) {
  const rows = yield * all(db.selectFrom('files').select(COLUMNS)
    .where('room', '=', call.room).where('expires_at', 'is not', null).where('expires_at', '<=', iso(call.now)).limit(limit))
  for (const row of rows) yield * remove(call, row, 'file_expired')
  return { more: rows.length === limit }
}
