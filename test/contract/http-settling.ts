import type { Test } from 'tap'
import type { TicketList } from '../../schemas/api'
import type { ErrorBody } from '../../schemas/error'
import type { AuditEntry } from '../../schemas/event'
import type { Ticket } from '../../schemas/ticket'
import { enqueue, json, post, refused, type HttpTarget } from './http-target'

export async function settling (t: Test, target: HttpTarget): Promise<void> {
  t.test('an answer settles a ticket and comes back with it', async t => {
    const to = await target.open(t)
    const before = await enqueue(to)
    const response = await to.request('/api/answer', post({ id: before.id, answer: ' yes\n"do" \u{1F44D} ', answered_by: 'Lea' }))
    t.equal(response.status, 200)
    const ticket = await json<Ticket>(response)
    t.strictSame(ticket, { ...before, status: 'answered', answer: ' yes\n"do" \u{1F44D} ', answered_by: 'human', answered_at: ticket.answered_at, rev: 2 })
    t.strictSame(await json(to.request(`/api/tickets/${ticket.id}`)), ticket)
    t.strictSame((await json<TicketList>(to.request('/api/tickets'))).tickets, [ticket], 'settled a moment ago, it is still listed')
  })

  t.test('a second answer is 409 and brings the ticket as it now is; nothing else changes', async t => {
    const to = await target.open(t)
    const [{ id }, other] = [await enqueue(to), await enqueue(to)]
    const first = await json<Ticket>(to.request('/api/answer', post({ id, answer: 'yes' })))
    const response = await to.request('/api/answer', post({ id, answer: 'no' }))
    t.equal(response.status, 409)
    const body = await json<ErrorBody>(response)
    t.equal(body.error, 'TICKET_SETTLED')
    t.match(body.message, /already answered: "yes", at /)
    t.strictSame(body.ticket, first)
    t.strictSame(await json(to.request(`/api/tickets/${other.id}`)), other)
  })

  t.test('of answers that race one wins, and every other is told what it was', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => to.request('/api/answer', post({ id, answer: `answer ${i}` }))))
    t.strictSame(answers.map(({ status }) => status).sort(), [200, ...Array<number>(7).fill(409)])
    const won = await json<Ticket>(answers.find(({ status }) => status === 200)!)
    for (const lost of answers.filter(({ status }) => status === 409)) t.strictSame((await json<ErrorBody>(lost)).ticket, won)
    const { entries } = await json<{ entries: AuditEntry[] }>(to.request('/api/audit'))
    t.equal(entries.filter(({ event }) => event === 'answered').length, 1)
  })

  t.test('an undo opens the ticket again for at least five minutes', async t => {
    const to = await target.open(t)
    const before = await enqueue(to, { timeout_seconds: 1, default_answer: 'no' })
    await to.request('/api/answer', post({ id: before.id, answer: 'yes' }))
    const response = await to.request('/api/undo', post({ id: before.id }))
    t.equal(response.status, 200)
    const ticket = await json<Ticket>(response)
    t.strictSame(ticket, { ...before, expires_at: ticket.expires_at, rev: 3 })
    t.ok(Date.parse(ticket.expires_at) - Date.parse(before.created_at) >= 5 * 60_000)
  })

  t.test('what cannot be undone is 409 with the ticket', async t => {
    const to = await target.open(t)
    const ticket = await enqueue(to)
    const response = await refused(t, to.request('/api/undo', post({ id: ticket.id })), 409, 'UNDO_WINDOW_PASSED', /pending/)
    t.equal(response.status, 409)
    t.strictSame((await json<ErrorBody>(to.request('/api/undo', post({ id: ticket.id })))).ticket, ticket)
  })

  t.test('a ticket that is not there is 404', async t => {
    const to = await target.open(t)
    await refused(t, to.request('/api/tickets/none'), 404, 'TICKET_NOT_FOUND', /"none"/)
    await refused(t, to.request('/api/answer', post({ id: 'none', answer: 'yes' })), 404, 'TICKET_NOT_FOUND')
    await refused(t, to.request('/api/undo', post({ id: 'none' })), 404, 'TICKET_NOT_FOUND')
    await refused(t, to.request('/api/tickets/__proto__'), 404, 'TICKET_NOT_FOUND')
  })
}
