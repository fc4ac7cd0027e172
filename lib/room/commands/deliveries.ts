import type { Selectable } from 'kysely'
import type { Delivery, TicketInRoom } from '../../../schemas/api'
import { given, type Command } from '../call'
import { all, type Steps } from '../steps'
import { db, type DeliveriesTable } from '../tables'

const deliveryOf = (row: Selectable<DeliveriesTable>): Delivery => ({
  rev: row.rev,
  saved_at: row.saved_at,
  ...given('delivered_at', row.delivered_at),
  ...given('read_at', row.read_at)
})

/** What became of each revision of a ticket, in order. */
export const deliveriesOf: Command<{ ticket_id: string }, { deliveries: Delivery[] }> = function * (_call, { ticket_id: id }) {
  const rows = yield * all(db.selectFrom('deliveries').selectAll().where('ticket_id', '=', id).orderBy('rev'))
  return { deliveries: rows.map(deliveryOf) }
}

/** What a response carried of a ticket in a room: a revision, of which either the number is known, or when it was saved. */
export type Carried = { room: string, ticket_id: string } & ({ rev: number } | { saved_at: string })

/** One thing that is known of a way to an agent: a response was written that carried something, or the agent called again. */
export type DeliveryMark =
  | { kind: 'delivered', asker: string, at: string } & Carried
  | { kind: 'read', asker: string, at: string }

function * apply (mark: DeliveryMark): Steps<Array<{ ticket_id: string }>> {
  const { asker, at } = mark
  if (mark.kind === 'read') {
    return yield * all(db.updateTable('deliveries').set({ read_at: at })
      .where('asker', '=', asker).where('delivered_at', 'is not', null).where('read_at', 'is', null).returning('ticket_id'))
  }
  const { ticket_id: id } = mark
  if ('rev' in mark) {
    // What the audit log says of this revision may come later than the response that carried it.
    return yield * all(db.insertInto('deliveries').values({ ticket_id: id, rev: mark.rev, saved_at: at, delivered_at: at, read_at: null, asker })
      .onConflict(conflict => conflict.columns(['ticket_id', 'rev']).doUpdateSet({ delivered_at: at, asker }).where('deliveries.delivered_at', 'is', null))
      .returning('ticket_id'))
  }
  return yield * all(db.updateTable('deliveries').set({ delivered_at: at })
    .where('ticket_id', '=', id).where('saved_at', '=', mark.saved_at).where('asker', '=', asker).where('delivered_at', 'is', null).returning('ticket_id'))
}

/** Takes the marks in, in order; what is known already stays. Returns the tickets of which something new is known. */
export const noteDeliveries: Command<{ marks: readonly DeliveryMark[] }, { tickets: string[] }> = function * (_call, { marks }) {
  const changed = new Set<string>()
  for (const mark of marks) for (const { ticket_id: id } of yield * apply(mark)) changed.add(id)
  return { tickets: [...changed] }
}

/** A ticket, and the room that knows of it. */
export interface TicketPlace { id: string, room: string }

/** What the rooms know of tickets: how far each newest revision has come, and the task that waits. Tickets of which nothing is known are left out. */
export const ticketsInRoom: Command<{ tickets: readonly TicketPlace[] }, { tickets: Record<string, TicketInRoom> }> = function * (_call, input) {
  const tickets: Record<string, TicketInRoom> = {}
  if (input.tickets.length === 0) return { tickets }
  // One list, whatever its length: a statement takes only so many parameters.
  const among = JSON.stringify(input.tickets.map(({ id }) => id))
  const chosen = db.selectFrom(({ fn }) => fn<{ value: string }>('json_each', [eb => eb.val(among)]).as('ids')).select('ids.value')
  for (const row of yield * all(db.selectFrom('deliveries').selectAll().where('ticket_id', 'in', chosen).orderBy('rev'))) {
    const before = tickets[row.ticket_id]?.delivery
    tickets[row.ticket_id] = { delivery: deliveryOf(row), ...(before !== undefined && { delivery_before: before }) }
  }
  const waiting = yield * all(db.selectFrom('tasks').select(['room', 'id', 'title', 'ticket_id'])
    .where('status', '=', 'blocked').where('ticket_id', 'in', chosen).orderBy('id', 'desc'))
  for (const task of waiting) {
    tickets[task.ticket_id!] = { ...tickets[task.ticket_id!], waiting_task: { room: task.room, id: task.id, title: task.title } }
  }
  return { tickets }
}
