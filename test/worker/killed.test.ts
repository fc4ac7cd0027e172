import t from 'tap'
import { checkNext, EMPTY_HEAD, headAt } from '../../lib/audit'
import type { AuditEntry } from '../../schemas/event'
import type { Ticket } from '../../schemas/ticket'
import { enqueue, post, request } from '../helpers/worker-client'
import { startWranglerDev, type WranglerDev } from '../helpers/wrangler-dev'

const json = async <T>(response: Promise<Response>): Promise<T> => (await response).json() as Promise<T>

/** Enqueues and answers, again and again, and remembers what it was told; until the other side is gone. */
async function work (worker: WranglerDev, told: Map<string, number>, enough: () => void): Promise<void> {
  try {
    for (;;) {
      const id = await enqueue(worker, { context: 'x'.repeat(10_000) })
      told.set(id, 1)
      if ((await post(worker, '/api/answer', { id, answer: 'yes' })).status === 200) told.set(id, 2)
      if (told.size >= 40) enough()
    }
  } catch { /* It is gone. */ }
}

t.test('a runtime that is killed in the middle of everything has kept what it acknowledged', async t => {
  const persist = t.testdir()
  const first = await startWranglerDev(t, persist)
  const told = new Map<string, number>()
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const workers = Array.from({ length: 4 }, () => work(first, told, resolve))
  await enough
  await first.kill()
  await Promise.all(workers)
  t.ok(told.size >= 40, `${told.size} tickets were acknowledged`)

  const second = await startWranglerDev(t, persist)
  for (const [id, rev] of told) {
    const ticket = await json<Ticket>(request(second, `/api/tickets/${id}`))
    t.ok(ticket.rev >= rev, `${id} is as it was told, or a step further that nobody was told of`)
    if (ticket.rev === 2) t.equal(ticket.answer, 'yes')
  }
  let head = EMPTY_HEAD
  for (;;) {
    const { entries } = await json<{ entries: AuditEntry[] }>(request(second, `/api/audit?after=${head.seq}`))
    if (entries.length === 0) break
    for (const entry of entries) {
      if (!t.strictSame(checkNext(JSON.stringify(entry), head), { entry })) return
      head = headAt(entry)
    }
  }
  t.ok(head.seq >= [...told.values()].reduce((sum, rev) => sum + rev, 0), `${head.seq} entries`)
  const next = await enqueue(second)
  t.equal((await json<{ entries: AuditEntry[] }>(request(second, `/api/audit?after=${head.seq}`))).entries[0]?.id, next, 'and it goes on')
})
