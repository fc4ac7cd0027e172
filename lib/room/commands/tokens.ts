import { ReadyroomError } from '../../errors'
import type { Role } from '../../principal'
import { given, iso, type Call, type Command } from '../call'
import { readName } from '../names'
import { all, first, one, run, type Steps } from '../steps'
import { leave } from './sweeping'
import { db, type TokensTable } from '../tables'
import type { Selectable } from 'kysely'

/** A token as a list shows it: everything but the token. */
export interface TokenView {
  id: number
  agent: string
  role: Role
  home: string
  rooms: string[]
  all_rooms: boolean
  created_at: string
  last_used_at?: string
  expires_at?: string
  revoked_at?: string
}

/** A live token as the door needs it. */
export interface KnownToken extends TokenView { hash: string }

const INITIALISED = 'initialised'

const viewOf = (row: Selectable<TokensTable>): TokenView => ({
  id: row.id,
  agent: row.agent,
  role: row.role,
  home: row.home,
  rooms: JSON.parse(row.rooms) as string[],
  all_rooms: row.all_rooms !== 0,
  created_at: row.created_at,
  ...given('last_used_at', row.last_used_at),
  ...given('expires_at', row.expires_at),
  ...given('revoked_at', row.revoked_at)
})

/** From now on nobody is let in without a credential. Twice is fine. */
export const initialise: Command<object, { since: string }> = function * (call) {
  const mark = yield * first(db.selectFrom('marks').select('value').where('name', '=', INITIALISED))
  if (mark !== undefined) return { since: mark.value }
  yield * run(db.insertInto('marks').values({ name: INITIALISED, value: iso(call.now) }))
  return { since: iso(call.now) }
}

/** What the door has to know: whether anybody is let in without a credential, and who else. */
export const loadTokens: Command<object, { initialised: boolean, tokens: KnownToken[], rooms: string[] }> = function * () {
  const mark = yield * first(db.selectFrom('marks').select('value').where('name', '=', INITIALISED))
  const rows = yield * all(db.selectFrom('tokens').selectAll().where('revoked_at', 'is', null).orderBy('id'))
  const rooms = (yield * all(db.selectFrom('rooms').select('name'))).map(({ name }) => name)
  return { initialised: mark !== undefined, tokens: rows.map(row => ({ ...viewOf(row), hash: row.hash })), rooms }
}

export interface MintInput {
  /** SHA-256 of the token, hex: the token itself is shown once by whoever made it, and kept nowhere. */
  hash: string
  agent: string
  role: Role
  home: string
  rooms?: readonly string[]
  all_rooms?: boolean
  /** ISO 8601. */
  expires_at?: string
}

function * checkRoom (room: string): Steps<void> {
  const there = yield * first(db.selectFrom('rooms').select('name').where('name', '=', room))
  if (there === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(room)}. Make it first: readyroom admin add-room ${room}`)
}

/** @throws BAD_REQUEST for a name that is none, or one that a token of another kind has. @throws ROOM_NOT_FOUND */
export const mintToken: Command<MintInput, KnownToken> = function * (call, input) {
  const agent = readName(input.agent, 'An agent')
  const home = readName(input.home, 'A room')
  const rooms = [...new Set((input.rooms ?? []).map(room => readName(room, 'A room')))].filter(room => room !== home)
  for (const room of [home, ...rooms]) yield * checkRoom(room)
  const other = yield * first(db.selectFrom('tokens').select('role').where('agent', '=', agent).where('revoked_at', 'is', null).where('role', '<>', input.role))
  if (other !== undefined) {
    throw new ReadyroomError('BAD_REQUEST', `${agent} holds a token as ${other.role} already, and one name is one kind of principal. Use another name, or revoke that token.`)
  }
  const { id } = yield * one(db.insertInto('tokens').values({
    hash: input.hash,
    agent,
    role: input.role,
    home,
    rooms: JSON.stringify(rooms),
    all_rooms: input.all_rooms === true ? 1 : 0,
    created_at: iso(call.now),
    last_used_at: null,
    expires_at: input.expires_at ?? null,
    revoked_at: null
  }).returning('id'))
  const row = yield * one(db.selectFrom('tokens').selectAll().where('id', '=', id))
  return { ...viewOf(row), hash: row.hash }
}

/** Tokens in order of their ids, or the one with a digest; revoked ones only where asked for, else their count. */
export const listTokens: Command<
  { revoked?: boolean, sha256?: string }, { tokens: TokenView[], revoked_hidden?: number }
> = function * (_call, { revoked = false, sha256 }) {
  const every = db.selectFrom('tokens').selectAll().orderBy('id')
  const rows = yield * all(sha256 === undefined ? every : every.where('hash', '=', sha256))
  const shown = rows.filter(row => revoked || row.revoked_at === null)
  const hidden = rows.length - shown.length
  return { tokens: shown.map(viewOf), ...(hidden > 0 && { revoked_hidden: hidden }) }
}

/** Wherever it has been: a grant for all rooms names none. */
export function * gone (call: Call, agent: string): Steps<void> {
  const rooms = yield * all(db.selectFrom('cursors').select('room').where('agent', '=', agent).orderBy('room'))
  for (const { room } of rooms) yield * leave({ ...call, room }, agent)
}

/** Ends every token of an agent, or one of them. Resolves with those that were alive. @throws BAD_REQUEST where there is none. */
export const revokeTokens: Command<{ agent?: string, id?: number }, { revoked: number[] }> = function * (call, { agent, id }) {
  let query = db.selectFrom('tokens').selectAll().where('revoked_at', 'is', null)
  if (agent !== undefined) query = query.where('agent', '=', agent.toLowerCase())
  if (id !== undefined) query = query.where('id', '=', id)
  const rows = yield * all(query)
  if (rows.length === 0) throw new ReadyroomError('BAD_REQUEST', `No live token of ${agent ?? `number ${id}`}. \`readyroom admin list\` shows what there is.`)
  for (const row of rows) yield * run(db.updateTable('tokens').set({ revoked_at: iso(call.now) }).where('id', '=', row.id))
  for (const name of new Set(rows.map(row => row.agent))) {
    const left = yield * first(db.selectFrom('tokens').select('id').where('agent', '=', name).where('revoked_at', 'is', null))
    if (left === undefined) yield * gone(call, name)
  }
  return { revoked: rows.map(row => row.id) }
}

/** Forgets revoked tokens, all or those revoked more than so many days ago. A live one is never touched. */
export const purgeTokens: Command<{ older_than_days?: number }, { purged: number }> = function * (call, { older_than_days: days = 0 }) {
  const before = iso(call.now - days * 86_400_000)
  const rows = yield * all(db.deleteFrom('tokens').where('revoked_at', 'is not', null).where('revoked_at', '<=', before).returning('id'))
  return { purged: rows.length }
}

/** When tokens were last used. */
export const noteTokenUse: Command<{ uses: ReadonlyArray<readonly [id: number, at: string]> }, null> = function * (_call, { uses }) {
  for (const [id, at] of uses) yield * run(db.updateTable('tokens').set({ last_used_at: at }).where('id', '=', id))
  return null
}
