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
    const { rev } = await awaitable(head, id, caller)
    try {
      return await rooms.run('updateTask', head, { ...input, ticket_rev: rev })
    } catch (err) {
      // It was settled between the look and the write.
      if (!(err instanceof ReadyroomError) || err.code !== 'STALE_WRITE') throw err
    }
  }
}

/** A ticket that a task may wait for. @throws NOT_YOUR_TICKET, TICKET_SETTLED */
async function awaitable (head: CallHead, id: string, { tickets, principal }: Caller): Promise<Ticket> {
  const ticket = await tickets.wait(id, { ms: 0 })
  if (principal.kind !== 'owner' && (ticket.asker !== principal.name || ticket.room !== head.room)) {
    throw new ReadyroomError('NOT_YOUR_TICKET', `A task waits for a ticket of the agent that says so, in the same room; ${id} is none of yours here.`)
  }
  if (ticket.status !== 'pending') {
    throw new ReadyroomError('TICKET_SETTLED', `Ticket ${id} is settled (${ticket.status}): there is nothing left to wait for. Read it with wait_for_answer.`, { ticket })
  }
  return ticket
}
