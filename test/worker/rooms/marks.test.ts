import t, { type Test } from 'tap'
import type { Ticket } from '../../../schemas/ticket'
import type { Delivery, TicketInRoom } from '../../../schemas/api'
import { deliveryContract } from '../../contract/delivery'
import { callerOf } from '../../contract/v1'
import { json, post } from '../../contract/http-target'
import { ask } from '../../helpers/http'
import { toolCall } from '../../helpers/mcp-pipes'
import { eventually } from '../../helpers/process'
import { startWorker } from '../../helpers/worker'
import { request, type ToolAnswer } from '../../helpers/worker-client'
import { administer, mint } from '../../helpers/worker-rooms'

type Seen = Ticket & TicketInRoom

/** One agent over MCP, in either form of an answer, and one approver over HTTP. */
async function scene (t: Test) {
  const worker = await startWorker(t)
  const [ann, lea] = [await mint(worker, 'ann'), await mint(worker, 'lea', { role: 'approver' })]
  const reach = (token: string) => callerOf({ origin: worker.origin, request: (path, init) => ask(worker.origin, path, init) }, token)
  const byLea = reach(lea)
  return {
    worker,
    reach,
    ann: reach(ann),
    lea: byLea,
    async call (name: string, args: object = {}, { token = ann, accept = 'application/json' } = {}): Promise<ToolAnswer> {
      const headers = { authorization: `Bearer ${token}`, origin: worker.origin, accept }
      const text = await (await ask(worker.origin, '/mcp', post(toolCall(1, name, args), headers))).text()
      const data = accept === 'application/json' ? text : /^data: (.*)$/m.exec(text)![1]!
      return (JSON.parse(data) as { result: ToolAnswer }).result
    },
    /** In the list as by itself. */
    async seen (id: string): Promise<Seen> {
      const one = await byLea.get<Seen>(`/api/tickets/${id}`)
      const { tickets } = await byLea.get<{ tickets: Seen[] }>('/api/tickets')
      const listed = tickets.find(ticket => ticket.id === id)
      t.strictSame(listed?.delivery?.rev, one.delivery?.rev)
      return one
    }
  }
}

/** The mark of a revision, once it says this. */
const until = (seen: () => Promise<Seen>, what: keyof Delivery, rev = 2): Promise<Delivery> => eventually(async () => {
  const { delivery } = await seen()
  return delivery?.rev === rev && delivery[what] !== undefined ? delivery : undefined
}, what)

deliveryContract(t, {
  name: 'Worker',
  async open (t) {
    const worker = await startWorker(t)
    return { origin: worker.origin, mint: (agent, more) => mint(worker, agent, more), request: (path, init) => ask(worker.origin, path, init) }
  }
})

t.test('an answer is delivered with the response that carried it, as JSON or as a stream, and read with the next call', async t => {
  const { lea, call, seen } = await scene(t)
  for (const accept of ['application/json', 'application/json, text/event-stream']) {
    const { structuredContent: { id } } = await call('ask_human', { question: 'Ship it?' })
    await lea.post('/api/answer', { id, answer: 'yes' })
    t.notOk((await until(() => seen(id), 'saved_at')).delivered_at, 'nobody was told yet')
    t.match(await call('wait_for_answer', { id }, { accept }), { structuredContent: { answer: 'HUMAN ANSWER: yes' } })
    const delivered = await until(() => seen(id), 'delivered_at')
    t.notOk(delivered.read_at, 'a page that looks is not the agent')
    await call('list_pending')
    const { saved_at: saved, delivered_at: got, read_at: read } = await until(() => seen(id), 'read_at')
    t.ok(saved <= got! && got! <= read!)
  }
})

t.test('marks are kept while the objects sleep, and the owner\'s page shows them though nobody has shown a token since', async t => {
  const { worker, lea, call, seen } = await scene(t)
  const { structuredContent: { id } } = await call('ask_human', { question: 'Ship it?' })
  await lea.post('/api/answer', { id, answer: 'yes' })
  await call('wait_for_answer', { id })
  await until(() => seen(id), 'delivered_at')
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'QueueObject', { name: 'queue' })
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'RoomObject', { name: '["queue","main"]' })
  t.match(await json(request(worker, `/api/tickets/${id}`)), { delivery: { rev: 2, delivered_at: String } })
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'QueueObject', { name: 'queue' })
  await call('list_pending')
  await until(() => seen(id), 'read_at')
})

t.test('a ticket whose room was deleted is shown all the same, and its marks hold up no other room\'s', async t => {
  const { worker, reach, call, seen } = await scene(t)
  const lab = await mint(worker, 'eve', { room: 'lab', also: ['main'] })
  const leo = reach(await mint(worker, 'leo', { room: 'lab', also: ['main'], role: 'approver' }))
  const { structuredContent: { id: gone } } = await call('ask_human', { question: 'In lab?' }, { token: lab })
  const { structuredContent: { id } } = await call('ask_human', { question: 'In main?' })
  for (const one of [gone, id]) await leo.post('/api/answer', { id: one, answer: 'yes' })
  await administer(worker, 'delete-room', { room: 'lab', confirm: 'lab' })
  await call('wait_for_answer', { id: gone }, { token: lab })
  await call('wait_for_answer', { id })
  await until(() => seen(id), 'delivered_at')
  t.notOk('delivery' in await leo.get<Seen>(`/api/tickets/${gone}`))
})
