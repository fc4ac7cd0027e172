import { MESSAGE_BYTES, PAGE_BYTES, type Message } from '../../../schemas/room'
import { ReadyroomError } from '../../errors'
import { spend } from './attention'
import { append, checkText, enter, given, iso, nextId, page, type Call, type Command } from '../call'
import { calledIn } from '../members'
import { fold, mentionsIn } from '../names'
import { all, first, run, type Steps } from '../steps'
import { db, type MessagesTable } from '../tables'
import { indexText } from '../texts'

const PAGE = 50

export interface PostInput { body: string, reply_to?: number, to?: readonly string[], require_ack?: boolean }

const list = (json: string | null): string[] | undefined => json === null ? undefined : JSON.parse(json) as string[]

function * messageAt (room: string, id: number): Steps<MessagesTable> {
  const row = yield * first(db.selectFrom('messages').selectAll().where('room', '=', room).where('id', '=', id))
  if (row === undefined) throw new ReadyroomError('MESSAGE_NOT_FOUND', `There is no message ${id} in the room ${room}.`)
  return row
}

/** Whom a message is addressed to, as the room calls them. @throws BAD_REQUEST naming those that nobody is called. */
function addressees (to: readonly string[], called: ReadonlyMap<string, string>, room: string): string[] {
  const unknown = to.filter(name => !called.has(fold(name)))
  if (unknown.length > 0) {
    throw new ReadyroomError('BAD_REQUEST', `to names nobody of the room ${room}: ${unknown.map(name => JSON.stringify(name)).join(', ')}. See list_agents.`)
  }
  return [...new Set(to.map(name => called.get(fold(name))!))]
}

export interface Posted { id: number, event_id: number, mentions?: string[], over_budget?: string[] }

/** Says something in the room. Who is mentioned is worked out here, once. */
export const postMessage: Command<PostInput, Posted> = function * (call, input) {
  yield * enter(call)
  const { room, actor } = call
  const body = checkText(input.body, 'body', MESSAGE_BYTES)
  if (input.reply_to !== undefined) yield * messageAt(room, input.reply_to)
  const called = yield * calledIn(room)
  const to = addressees(input.to ?? [], called, room)
  const mentions = mentionsIn(body, called).filter(name => name !== actor.name)
  const id = yield * nextId(call, 'message_seq')
  yield * run(db.insertInto('messages').values({
    room,
    id,
    at: iso(call.now),
    author: actor.name,
    author_kind: actor.kind,
    body,
    reply_to: input.reply_to ?? null,
    to: to.length === 0 ? null : JSON.stringify(to),
    mentions: mentions.length === 0 ? null : JSON.stringify(mentions),
    require_ack: input.require_ack === true ? 1 : 0
  }))
  yield * indexText(room, 'message', id, body)
  const { within, over } = yield * spend(call, [...new Set([...to, ...mentions])])
  const event = yield * append(call, { kind: 'message_posted', message_id: id, body, concerns: within })
  return { id, event_id: event.id, ...(mentions.length > 0 && { mentions }), ...(over.length > 0 && { over_budget: over }) }
}

/** Says that a message was seen. Twice is fine. @throws MESSAGE_NOT_FOUND */
export const ackMessage: Command<{ message_id: number }, { message_id: number, acked: true }> = function * (call, { message_id: id }) {
  yield * enter(call)
  const { room, actor } = call
  const message = yield * messageAt(room, id)
  const before = yield * first(db.selectFrom('acks').select('at').where('room', '=', room).where('message_id', '=', id).where('agent', '=', actor.name))
  if (before === undefined) {
    yield * run(db.insertInto('acks').values({ room, message_id: id, agent: actor.name, at: iso(call.now) }))
    // Who did not ask for it is not woken by it.
    const asked = message.require_ack !== 0 && message.author !== actor.name
    const { within } = yield * spend(call, asked ? [message.author] : [])
    yield * append(call, { kind: 'message_acked', message_id: id, concerns: within })
  }
  return { message_id: id, acked: true }
}

function * acksOf (call: Call, ids: readonly number[]): Steps<Map<number, string[]>> {
  const byId = new Map<number, string[]>()
  if (ids.length === 0) return byId
  const rows = yield * all(db.selectFrom('acks').select(['message_id', 'agent'])
    .where('room', '=', call.room).where('message_id', 'in', ids).orderBy('message_id').orderBy('at'))
  for (const { message_id: id, agent } of rows) byId.set(id, [...byId.get(id) ?? [], agent])
  return byId
}

export interface ReadMessagesInput { since_id?: number, limit?: number }

/** Messages in order: those after `since_id`, or, without it, the newest. Moves no cursor. */
export const readMessages: Command<ReadMessagesInput, { messages: Message[], next?: number }> = function * (call, { since_id: since, limit = PAGE }) {
  yield * enter(call)
  const { room } = call
  const rows = since === undefined
    ? (yield * all(db.selectFrom('messages').selectAll().where('room', '=', room).orderBy('id', 'desc').limit(limit))).reverse()
    : yield * all(db.selectFrom('messages').selectAll().where('room', '=', room).where('id', '>', since).orderBy('id').limit(limit + 1))
  const { items, next } = page(yield * messagesOf(call, rows), limit, PAGE_BYTES)
  return { messages: items, ...given('next', next) }
}

/** Rows as messages, with who has acknowledged them. */
export function * messagesOf (call: Call, rows: readonly MessagesTable[]): Steps<Message[]> {
  const acks = yield * acksOf(call, rows.map(({ id }) => id))
  return rows.map((row): Message => ({
    id: row.id,
    at: row.at,
    author: row.author,
    author_kind: row.author_kind,
    body: row.body,
    ...given('reply_to', row.reply_to),
    ...given('to', list(row.to)),
    ...given('mentions', list(row.mentions)),
    ...(row.require_ack !== 0 && { require_ack: true as const }),
    ...given('acked_by', acks.get(row.id))
  }))
}
