import type { ActorKind, RoomEvent, RoomEventKind } from '../../schemas/room'
import { ReadyroomError } from '../errors'
import { all, first, one, run, type Steps } from './steps'
import { db, taskRoom } from './tables'
import { renewed } from './tasks'

/** Who does it, as the room keeps it. */
export interface Actor {
  name: string
  kind: ActorKind
  /** Administers this room. */
  admin: boolean
}

/** One command under way. Whoever may not enter the room has been refused before. */
export interface Call {
  actor: Actor
  room: string
  /** Milliseconds since 1970. */
  now: number
  /** What this command has added to the room's log. It is published once durable. */
  events: RoomEvent[]
}

/** A command as data: a name in COMMANDS, and steps in one transaction with all it changes. */
export type Command<Input, Output> = (call: Call, input: Input) => Steps<Output>

export const iso = (ms: number): string => new Date(ms).toISOString()

/** A field that is there, or none at all. */
export const given = <K extends string, V>(name: K, value: V | null | undefined): { [key in K]?: V } =>
  value === null || value === undefined ? {} : { [name]: value } as { [key in K]?: V }

export interface NewEvent {
  kind: RoomEventKind
  message_id?: number
  task_id?: number
  file_id?: number
  ticket_id?: string
  body?: string
  /** Names that it is meant for: mentioned, addressed, waited with. */
  concerns?: readonly string[]
  /** Where somebody else than the caller did it. */
  actor?: Pick<Actor, 'name' | 'kind'>
  /** Where it happened at another time than now, ISO 8601. */
  at?: string
}

/** Adds one event to the room's log, in the transaction of what it tells of. */
export function * append (call: Call, event: NewEvent): Steps<RoomEvent> {
  const { actor = call.actor, at = iso(call.now), concerns = [], kind, body } = event
  const { event_seq: id } = yield * one(db.updateTable('rooms')
    .set(set => ({ event_seq: set('event_seq', '+', 1) })).where('name', '=', call.room).returning('event_seq'))
  const { message_id: messageId, task_id: taskId, file_id: fileId, ticket_id: ticketId } = event
  yield * run(db.insertInto('events').values({
    room: call.room,
    id,
    at,
    actor: actor.name,
    actor_kind: actor.kind,
    kind,
    message_id: messageId ?? null,
    task_id: taskId ?? null,
    file_id: fileId ?? null,
    ticket_id: ticketId ?? null,
    body: body ?? null,
    concerns: concerns.length === 0 ? null : JSON.stringify(concerns)
  }))
  const written: RoomEvent = {
    id,
    at,
    room: call.room,
    actor: actor.name,
    actor_kind: actor.kind,
    kind,
    ...given('message_id', messageId),
    ...given('task_id', taskId),
    ...given('file_id', fileId),
    ...given('ticket_id', ticketId),
    ...given('body', body),
    ...(concerns.length > 0 && { concerns: [...concerns] })
  }
  call.events.push(written)
  return written
}

/**
 * What every call of somebody in a room begins with: the room is there, the caller has a place in its log (from now on,
 * not from the beginning), and a sign of life renews the leases that the caller holds.
 * `alive` is false where it is none.
 * @throws ROOM_NOT_FOUND
 */
export function * enter (call: Call, alive = true): Steps<{ through: number, greeted: boolean }> {
  const { room, actor, now } = call
  const found = yield * first(db.selectFrom('rooms').select('event_seq').where('name', '=', room))
  if (found === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(room)}.`)
  // The server itself is nobody who joins, is called or leaves.
  if (actor.kind === 'system') return { through: found.event_seq, greeted: true }
  const held = alive
    ? yield * all(db.selectFrom('tasks').selectAll().where('lease_until', 'is not', null).where('owner', '=', actor.name).where(taskRoom, '=', room))
    : []
  for (const task of held) {
    const until = renewed(task, now)
    if (until !== undefined) {
      yield * run(db.updateTable('tasks').set({ lease_until: until }).where('room', '=', room).where('id', '=', task.id))
    }
  }
  const cursor = yield * first(db.selectFrom('cursors').select(['through', 'greeted', 'gone']).where('room', '=', room).where('agent', '=', actor.name))
  if (cursor !== undefined) {
    if (cursor.gone !== 0) {
      yield * append(call, { kind: 'agent_joined' })
      yield * run(db.updateTable('cursors').set({ gone: 0 }).where('room', '=', room).where('agent', '=', actor.name))
    }
    return { through: cursor.through, greeted: cursor.greeted !== 0 }
  }
  const { id: through } = yield * append(call, { kind: 'agent_joined' })
  yield * run(db.insertInto('cursors').values({ room, agent: actor.name, through, greeted: 0 }))
  return { through, greeted: false }
}

/** The next id of a kind in this room. */
export function * nextId (call: Call, kind: 'message_seq' | 'task_seq' | 'note_seq' | 'file_seq'): Steps<number> {
  const row = yield * one(db.updateTable('rooms').set(set => ({ [kind]: set(kind, '+', 1) })).where('name', '=', call.room).returning(kind))
  return (row as Record<typeof kind, number>)[kind]
}

const encoder = new TextEncoder()

export const bytesOf = (text: string): number => encoder.encode(text).length

/** @throws BAD_REQUEST when a text is blank or over its limit, in bytes of UTF-8. */
export function checkText (text: string, field: string, limit: number): string {
  const size = bytesOf(text)
  if (size > limit) throw new ReadyroomError('BAD_REQUEST', `${field} may have at most ${limit.toLocaleString('en-US')} bytes; got ${size.toLocaleString('en-US')}.`)
  if (!/[^\s\p{Cc}\p{Cf}]/u.test(text)) throw new ReadyroomError('BAD_REQUEST', `${field} must say something; got a blank text.`)
  return text
}

/** What fits in a result page. `next` is the id to go on after, where something was left out; nothing is cut in silence. */
export function page<T extends { id: number }> (items: readonly T[], limit: number, bytes: number): { items: T[], next?: number } {
  const fit: T[] = []
  let size = 0
  for (const item of items) {
    size += bytesOf(JSON.stringify(item))
    if (fit.length === limit || (fit.length > 0 && size > bytes)) return { items: fit, next: fit.at(-1)!.id }
    fit.push(item)
  }
  return { items: fit }
}
