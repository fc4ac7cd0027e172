import type { AuditEntry } from '../../../schemas/event'
import type { Ticket } from '../../../schemas/ticket'
import { NOTE_BYTES } from '../../../schemas/room'
import { describeSettled } from '../../lifecycle'
import { OWNER } from '../../principal'
import { append, bytesOf, type Call, type Command } from '../call'
import { all, first, run, type Steps } from '../steps'
import { db, taskRoom } from '../tables'
import { onTicket, type TicketOutcome } from '../tasks'
import { note } from './board'
import { settle, taskAt } from './tasks-read'

const APPLIED = 'audit_seq'
const SYSTEM = { name: 'system', kind: 'system' } as const

const KINDS = {
  enqueued: 'ticket_enqueued', answered: 'ticket_answered', undone: 'ticket_undone', expired: 'ticket_expired', cancelled: 'ticket_cancelled'
} as const

/** As much of an entry of the audit log as a task is told. */
type Told = Pick<AuditEntry, 'event' | 'ticket'>

function outcomeOf ({ event, ticket }: Told): TicketOutcome | undefined {
  switch (event) {
    case 'answered': return 'answered'
    case 'undone': return 'undone'
    case 'cancelled': return 'cancelled'
    case 'expired': return ticket.answered_by === 'default' ? 'default' : 'expired'
    default: return undefined
  }
}

/** What a waiting task is told, in the server's words. */
function noteOf ({ event, ticket }: Told): string {
  if (event === 'undone') return `The answer to ticket ${ticket.id} was taken back; this task waits for it again.`
  const freed = ticket.answer === undefined ? ' This task stays blocked: decide what becomes of it.' : ''
  const told = `Ticket ${ticket.id} ${describeSettled(ticket)}.${freed}`
  // An answer may be as long as a note by itself, and longer in bytes; a note that is refused would hold up every ticket behind it.
  return bytesOf(told) <= NOTE_BYTES ? told : `Ticket ${ticket.id} is ${ticket.status}. Its answer is too long for a note: read it with wait_for_answer.`
}

/** Every task of a room that a ticket frees, holds or blocks again. */
export function * tell (call: Call, entry: Told, outcome: TicketOutcome): Steps<void> {
  const { ticket: { id } } = entry
  const rows = yield * all(db.selectFrom('tasks').select('id').where(taskRoom, '=', call.room)
    .where(({ eb, or }) => or([eb('ticket_id', '=', id), eb('freed_by', '=', id)])))
  for (const row of rows) {
    let task = yield * taskAt(call, row.id)
    const decision = onTicket(task, id, outcome, call.now)
    if (decision !== undefined) task = yield * settle(call, task, decision, { actor: SYSTEM, concerns: task.owner === null ? [] : [task.owner] })
    if (decision !== undefined || task.ticket_id === id) yield * note(call, task, noteOf(entry), SYSTEM)
  }
}

/** What was asked without a token is in no room, and yet a task of any room may wait for it. */
function * tellWherever (call: Call, entry: AuditEntry, outcome: TicketOutcome): Steps<void> {
  const { ticket: { id } } = entry
  // Only an undo looks for what was freed: that one has no index.
  const waiting = db.selectFrom('tasks').select('room').distinct().where('ticket_id', '=', id)
  const rooms = yield * all(outcome === 'undone' ? waiting.union(db.selectFrom('tasks').select('room').where('freed_by', '=', id)) : waiting)
  for (const { room } of rooms) yield * tell({ ...call, room }, entry, outcome)
}

/**
 * Tells the tasks of a room that wait for a ticket how it ended, where that is behind them: it ended while they began to
 * wait, or in a log that the room was not told of. Whoever has been told already is not told again.
 */
export const endWait: Command<{ ticket: Ticket }, null> = function * (call, { ticket }) {
  const { status } = ticket
  if (status === 'pending') return null
  const entry: Told = { event: status, ticket }
  const told = yield * first(db.selectFrom('notes').innerJoin('tasks', join => join
    .onRef('tasks.room', '=', 'notes.room').onRef('tasks.id', '=', 'notes.task_id'))
    .select('notes.id').where('tasks.ticket_id', '=', ticket.id).where(taskRoom, '=', call.room)
    .where('notes.author', '=', SYSTEM.name).where('notes.body', '=', noteOf(entry)))
  if (told === undefined) yield * tell(call, entry, outcomeOf(entry)!)
  return null
}

/** How far the audit log of the tickets has been applied here. */
export const appliedThrough: Command<object, { seq: number }> = function * () {
  const mark = yield * first(db.selectFrom('marks').select('value').where('name', '=', APPLIED))
  return { seq: mark === undefined ? 0 : Number(mark.value) }
}

/**
 * Applies entries of the audit log to the rooms, in order, each once: an event in the room of the agent that asked, and
 * what it means for the tasks that wait. How far it has come is saved with it, so that no crash loses one or doubles one.
 */
export const applyTickets: Command<{ entries: readonly AuditEntry[] }, { seq: number }> = function * (call, { entries }) {
  let { seq } = yield * appliedThrough(call, {})
  for (const entry of entries) {
    if (entry.seq <= seq) continue
    seq = entry.seq
    const { ticket, event, actor } = entry
    const { room, asker } = ticket
    const outcome = outcomeOf(entry)
    if (room === undefined) {
      if (outcome !== undefined) yield * tellWherever(call, entry, outcome)
      continue
    }
    const there = yield * first(db.selectFrom('rooms').select('name').where('name', '=', room))
    if (there === undefined) continue
    const inRoom: Call = { ...call, room }
    yield * append(inRoom, {
      kind: KINDS[event],
      ticket_id: ticket.id,
      at: entry.at,
      actor: event === 'enqueued' || event === 'cancelled' ? { name: asker ?? actor, kind: asker === OWNER.name ? 'owner' : 'agent' } : event === 'expired' ? SYSTEM : { name: actor, kind: 'owner' },
      body: event === 'enqueued' ? ticket.question : ticket.answer ?? '',
      concerns: asker === undefined || event === 'enqueued' || event === 'cancelled' ? [] : [asker]
    })
    // An answer can have reached the agent before it is told here.
    yield * run(db.insertInto('deliveries').values({ ticket_id: ticket.id, rev: ticket.rev, saved_at: entry.at, delivered_at: null, read_at: null, asker: asker ?? null })
      .onConflict(conflict => conflict.columns(['ticket_id', 'rev']).doUpdateSet({ saved_at: entry.at })))
    if (outcome !== undefined) yield * tell(inRoom, entry, outcome)
  }
  yield * run(db.insertInto('marks').values({ name: APPLIED, value: String(seq) }).onConflict(conflict => conflict.column('name').doUpdateSet({ value: String(seq) })))
  return { seq }
}

/** Begins at the end of a log: what was before the rooms were there is not told. `back` where it is another log than before, and shorter. */
export const skipTickets: Command<{ seq: number, back?: boolean }, null> = function * (_call, { seq, back = false }) {
  const value = String(seq)
  yield * run(db.insertInto('marks').values({ name: APPLIED, value })
    .onConflict(conflict => back ? conflict.column('name').doUpdateSet({ value }) : conflict.doNothing()))
  return null
}

/** Ids of the tickets that tasks wait for, with their rooms. */
export const awaitedTickets: Command<object, { tickets: Array<{ room: string, task_id: number, ticket_id: string }> }> = function * () {
  const rows = yield * all(db.selectFrom('tasks').select(['room', 'id', 'ticket_id']).where('ticket_id', 'is not', null).where('status', '=', 'blocked'))
  return { tickets: rows.map(row => ({ room: row.room, task_id: row.id, ticket_id: row.ticket_id! })) }
}

/**
 * A ticket that a task was to wait for was never enqueued. After a crash between the two the task is free again; `refused`
 * says that whoever made it was told so, and it is cancelled. The call with `key`, made once more, makes another task.
 */
export const dropTicket: Command<{ task_id: number, ticket_id: string, refused?: boolean, key?: string }, null> = function * (call, input) {
  const { task_id: id, ticket_id: ticketId, refused = false, key } = input
  if (key !== undefined) yield * run(db.deleteFrom('done_calls').where('key', '=', key))
  const task = yield * taskAt(call, id)
  if (task.status !== 'blocked' || task.ticket_id !== ticketId) return null
  const change = { status: refused ? 'cancelled' : 'pending', owner: null, ticket_id: null, version: task.version + 1 } as const
  const event = refused ? { kind: 'task_updated', body: 'cancelled' } as const : { kind: 'task_unblocked' } as const
  const freed = yield * settle(call, task, { change, event }, { actor: SYSTEM })
  yield * note(call, freed, refused
    ? `Ticket ${ticketId} of this task was refused, and so was the call that made both.`
    : `Ticket ${ticketId} was never enqueued; ask again where the decision is still needed.`, SYSTEM)
  return null
}
