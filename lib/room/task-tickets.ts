import type { Ticket } from '../../schemas/ticket'
import { ReadyroomError } from '../errors'
import { mintId, readAsk } from '../lifecycle'
import { may } from '../principal'
import type { RoomCallOptions, RoomDesk } from './desk'
import type { CallHead, InputOf } from './store'

// Tasks that wait for a person: what concerns both the board and the tickets.

export type NewTask = InputOf<'createTask'> & { ask?: Record<string, unknown> }

type Caller = Pick<RoomCallOptions, 'tickets' | 'principal' | 'stream'>

/**
 * Makes a task, and with `ask` the ticket that it waits for. The ticket's id is made first: a crash between the two leaves
 * a task that says which ticket it misses.
 */
export async function createTask (rooms: RoomDesk, head: CallHead, { ask, ...input }: NewTask, caller: Caller): Promise<object> {
  if (ask === undefined) return rooms.run('createTask', head, input)
  const { tickets, principal, stream = principal.name } = caller
  if (!may(principal, 'tickets:ask')) {
    throw new ReadyroomError('FORBIDDEN_SCOPE', `ask needs the scope tickets:ask, which the token of ${principal.name} does not have.`)
  }
  const question = readAsk(ask)
  const task = await rooms.run('createTask', head, { ...input, ticket_id: mintId(head.now) })
  // Sent again, it is the task of the first time, with the ticket of the first time.
  const ticketId = task.ticket_id!
  try {
    // In the room of the task: who answers there sees it, and the answer finds the task again.
    await tickets.ask({ ...question, stream, room: head.room, asker: head.actor.name }, ticketId)
  } catch (err) {
    // Whoever is refused calls again: what is left of this call is nothing to take up.
    const dropped = { task_id: task.id, ticket_id: ticketId, refused: true, ...(head.key !== undefined && { key: head.key }) }
    await rooms.run('dropTicket', rooms.system(head.room), dropped)
    throw err
  }
  return task
}

/** Changes a task, which may be made to wait for a ticket of the caller. @throws NOT_YOUR_TICKET, TICKET_SETTLED */
export async function updateTask (rooms: RoomDesk, head: CallHead, input: InputOf<'updateTask'>, caller: Caller): Promise<object> {
  const { ticket_id: id } = input
  if (id === undefined) return rooms.run('updateTask', head, input)
  for (;;) {
    const { rev, room } = await awaitable(head, id, caller)
    if (room === undefined) return waitForRoomless(rooms, head, { ...input, ticket_id: id }, caller)
    try {
      return await rooms.run('updateTask', head, { ...input, ticket_rev: rev })
    } catch (err) {
      // It was settled between the look and the write.
      if (!(err instanceof ReadyroomError) || err.code !== 'STALE_WRITE') throw err
    }
  }
}

/** No room is told of such a ticket before somebody waits for it: whether it ended meanwhile is to be seen from the ticket alone. */
async function waitForRoomless (rooms: RoomDesk, head: CallHead, input: InputOf<'updateTask'> & { ticket_id: string }, { tickets }: Caller): Promise<object> {
  const task = await rooms.run('updateTask', head, { ...input, of_no_room: true })
  const ticket = await tickets.wait(input.ticket_id, { ms: 0 })
  if (ticket.status === 'pending') return task
  await rooms.run('endWait', rooms.system(head.room), { ticket })
  return rooms.run('getTask', head, { task_id: input.task_id })
}

/** A ticket that a task may wait for. @throws NOT_YOUR_TICKET, TICKET_SETTLED */
async function awaitable (head: CallHead, id: string, { tickets, principal }: Caller): Promise<Ticket> {
  const ticket = await tickets.wait(id, { ms: 0 })
  const { room, asker } = ticket
  // The owner's agents have no name of their own, and ask in no room or, with a task, in its own.
  const isOwn = principal.kind === 'owner' ? room === undefined || room === head.room : asker === principal.name && room === head.room
  if (!isOwn) {
    throw new ReadyroomError('NOT_YOUR_TICKET', `A task waits for a ticket of the agent that says so, in the same room; ${id} is none of yours here.`)
  }
  if (ticket.status !== 'pending') {
    throw new ReadyroomError('TICKET_SETTLED', `Ticket ${id} is settled (${ticket.status}): there is nothing left to wait for. Read it with wait_for_answer.`, { ticket })
  }
  return ticket
}
