import t from 'tap'
import type { TicketList } from '../../schemas/api'
import type { ErrorBody } from '../../schemas/error'
import type { AuditEntry } from '../../schemas/event'
import type { Ticket } from '../../schemas/ticket'
import { checkNext, EMPTY_HEAD, headAt } from '../../lib/audit'
import { startWorker, type RunningWorker } from '../helpers/worker'
import { call, enqueue, post, request } from '../helpers/worker-client'

const json = async <T>(response: Promise<Response>): Promise<T> => (await response).json() as Promise<T>

async function audit (worker: RunningWorker): Promise<AuditEntry[]> {
  return (await json<{ entries: AuditEntry[] }>(request(worker, '/api/audit'))).entries
}

t.test('of fifty answers at once to one ticket one is taken, and forty-nine are told what it was', async t => {
  const worker = await startWorker(t)
  const id = await enqueue(worker)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => post(worker, '/api/answer', { id, answer: `answer ${n}` })))
  t.strictSame(answers.map(({ status }) => status).sort(), [200, ...Array<number>(49).fill(409)])
  const won = await answers.find(({ status }) => status === 200)!.json() as Ticket
  for (const lost of answers.filter(({ status }) => status === 409)) {
    t.match(await lost.json() as ErrorBody, { error: 'TICKET_SETTLED', ticket: won })
  }
  t.strictSame((await audit(worker)).map(({ event }) => event), ['enqueued', 'answered'])
})

t.test('what was acknowledged is there after the runtime has gone, and the chain goes on', async t => {
  const persist = t.testdir()
  const first = await startWorker(t, { persist })
  const [kept, answered, cancelled] = [await enqueue(first, { context: 'a\nb' }), await enqueue(first), await enqueue(first)]
  await post(first, '/api/answer', { id: answered, answer: 'yes', answered_by: 'Lea' })
  await call(first, '/mcp', 'cancel_ticket', { id: cancelled })
  const before = { list: await json<TicketList>(request(first, '/api/tickets')), audit: await audit(first) }
  await first.close()

  const second = await startWorker(t, { persist })
  t.strictSame((await json<TicketList>(request(second, '/api/tickets'))).tickets, before.list.tickets)
  t.strictSame(await audit(second), before.audit)
  t.equal((await post(second, '/api/answer', { id: answered, answer: 'no' })).status, 409)
  t.equal((await post(second, '/api/undo', { id: answered })).status, 200)
  t.equal((await post(second, '/api/answer', { id: kept, answer: 'yes' })).status, 200)
  let head = EMPTY_HEAD
  const entries = await audit(second)
  for (const entry of entries) {
    t.strictSame(checkNext(JSON.stringify(entry), head), { entry }, `line ${entry.seq} of the export holds`)
    head = headAt(entry)
  }
  t.equal(entries.length, 7)
  t.equal(new Set(entries.map(({ instance }) => instance)).size, 2, 'two wakings wrote it')
})

t.test('an object that slept wakes with what it had, and nothing kept it awake', async t => {
  const worker = await startWorker(t)
  const id = await enqueue(worker)
  const [{ instance }] = await audit(worker) as [AuditEntry]
  await call(worker, '/mcp/agent', 'wait_for_answer', { id, timeout_seconds: 0.05 })
  // Fails where a timer, a request or a connection still holds the object.
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'QueueObject', { name: 'queue' })
  t.equal((await post(worker, '/api/answer', { id, answer: 'yes' })).status, 200)
  const entries = await audit(worker)
  t.equal(entries[1]?.prev, entries[0]?.hash)
  t.not(entries[1]?.instance, instance, 'it is another waking of the object')
})

t.test('a queue that a newer release has written is 503 with what to do, time and again', async t => {
  const worker = await startWorker(t)
  await enqueue(worker)
  const storage = await worker.runtime.unsafeGetDurableObjectStorage('readyroom', 'QueueObject', { name: 'queue' })
  await storage.exec('UPDATE schema SET version = 99')
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'QueueObject', { name: 'queue' })
  for (let n = 0; n < 2; n++) {
    const refused = await request(worker, '/api/tickets')
    t.equal(refused.status, 503)
    t.match(await refused.json(), { error: 'STORE_UNAVAILABLE', message: /Read the ticket to see whether a change was saved/ })
  }
})

t.test('each name is a queue of its own, in one deployment after the other', async t => {
  const persist = t.testdir()
  const one = await startWorker(t, { persist, env: { READYROOM_QUEUE: 'one' } })
  await enqueue(one, { question: 'In one?' })
  await one.close()
  const two = await startWorker(t, { persist, env: { READYROOM_QUEUE: 'two' } })
  t.strictSame((await json<TicketList>(request(two, '/api/tickets'))).tickets, [])
  await two.close()
  const again = await startWorker(t, { persist, env: { READYROOM_QUEUE: 'one' } })
  t.match((await json<TicketList>(request(again, '/api/tickets'))).tickets, [{ question: 'In one?' }])
})

t.test('a Cron Trigger settles what is due before anybody reads it', async t => {
  const worker = await startWorker(t)
  const id = await enqueue(worker, { timeout_seconds: 1, default_answer: 'no' })
  const { scheduled } = await worker.runtime.getWorker() as unknown as { scheduled: (event: { cron: string }) => Promise<{ outcome: string }> }
  const deadline = performance.now() + 10_000
  while ((await worker.status()).seq < 2) {
    t.equal((await scheduled({ cron: '*/15 * * * *' })).outcome, 'ok')
    if (performance.now() > deadline) throw new Error('It was not settled within ten seconds')
  }
  t.equal((await worker.status()).pending, 0)
  t.match(await json(request(worker, `/api/tickets/${id}`)), { status: 'expired', answer: 'no', answered_by: 'default' })
})
