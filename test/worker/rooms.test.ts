import t from 'tap'
import type { Ticket } from '../../schemas/ticket'
import { callerOf } from '../contract/v1'
import { json, post, refused } from '../contract/http-target'
import { ask, DEADLINE_MS } from '../helpers/http'
import { eventually } from '../helpers/process'
import { toolCall } from '../helpers/mcp-pipes'
import { startWorker, TOKEN, type RunningWorker } from '../helpers/worker'
import { enqueue, request, type ToolAnswer } from '../helpers/worker-client'
import { administer, mint } from '../helpers/worker-rooms'
import type { RoomStub } from '../../worker/rooms/objects'

const reach = (worker: RunningWorker, token: string) =>
  callerOf({ origin: worker.origin, request: (path, init) => ask(worker.origin, path, init) }, token)

/** One JSON-RPC call by the holder of a token, at `/mcp`, without a stream. */
async function rpc<T> (worker: RunningWorker, token: string, message: object): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, origin: worker.origin, accept: 'application/json' }
  return (await json<{ result: T }>(ask(worker.origin, '/mcp', post(message, headers)))).result
}

const tool = (worker: RunningWorker, token: string, name: string, args: object = {}): Promise<ToolAnswer> =>
  rpc<ToolAnswer>(worker, token, toolCall(1, name, args))

/** What the object of a room says of a task, past the queue: asking it wakes nothing else. */
async function taskIn (worker: RunningWorker, room: string, id: number): Promise<{ status: string, owner?: string }> {
  const rooms = await worker.runtime.getDurableObjectNamespace('ROOM')
  const stub = rooms.get(rooms.idFromName(JSON.stringify(['queue', room]))) as unknown as RoomStub
  const call = { room, now: Date.now(), actor: { name: 'watcher', kind: 'system', admin: true } } as const
  const answer = await stub.run({ queue: 'queue', name: 'getTask', call, input: { task_id: id } })
  if ('error' in answer) throw new Error(answer.error.message)
  return answer.ok.result as { status: string, owner?: string }
}

t.test('an agent with a token has the room\'s tools beside those of the tickets, asks under its name, and cannot approve', async t => {
  const worker = await startWorker(t)
  const [ann, bob, lea] = [await mint(worker, 'ann'), await mint(worker, 'bob'), await mint(worker, 'lea', { role: 'approver' })]
  const { tools } = await rpc<{ tools: Array<{ name: string }> }>(worker, ann, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const names = tools.map(({ name }) => name)
  for (const name of ['ask_human', 'wait_for_answer', 'post_message', 'claim_task', 'whats_new']) t.ok(names.includes(name), name)
  t.notOk(names.includes('delete_room'))

  await tool(worker, bob, 'whats_new')
  await tool(worker, ann, 'post_message', { body: 'the sensors are off, @bob' })
  t.match(await tool(worker, bob, 'whats_new'), { structuredContent: { events: [{ kind: 'agent_joined' }, { kind: 'message_posted', actor: 'ann', concerns: ['bob'] }] } })

  const { structuredContent: { id } } = await tool(worker, ann, 'ask_human', { question: 'Ship it?' })
  t.match(await json<Ticket>(request(worker, `/api/tickets/${id}`)), { stream: 'ann', asker: 'ann', room: 'main' })
  const byAnn = reach(worker, ann)
  await refused(t, byAnn.send('/api/answer', { id, answer: 'yes' }), 403, 'FORBIDDEN_SCOPE', /tickets:answer/)
  await refused(t, byAnn.ask('/api/audit'), 403, 'FORBIDDEN_SCOPE', /server:admin/)
  t.match(await tool(worker, bob, 'wait_for_answer', { id, timeout_seconds: 0 }), { isError: true, content: [{ text: /enqueued/ }] })
  t.match(await reach(worker, lea).post<Ticket>('/api/answer', { id, answer: 'yes' }), { status: 'answered' })
  t.match(await tool(worker, ann, 'wait_for_answer', { id, timeout_seconds: 0 }), { structuredContent: { status: 'answered', answer: 'HUMAN ANSWER: yes' } })
  const { structuredContent: news } = await tool(worker, ann, 'whats_new')
  t.match((news['events'] as Array<{ kind: string }>).filter(({ kind }) => kind.startsWith('ticket_')), [{ kind: 'ticket_answered', ticket_id: id }])
})

t.test('two rooms know nothing of each other, and a ticket of one is not there for an approver of the other', async t => {
  const worker = await startWorker(t)
  const ann = reach(worker, await mint(worker, 'ann'))
  const eve = reach(worker, await mint(worker, 'eve', { room: 'lab' }))
  const leo = reach(worker, await mint(worker, 'leo', { room: 'lab', role: 'approver' }))
  await ann.post('/v1/messages', { body: 'only for main' })
  t.match(await eve.get('/v1/messages'), { messages: [] })
  t.match(await eve.post('/v1/messages', { body: 'only for lab' }), { id: 1 })
  t.match(await ann.get('/v1/search?query=lab'), { hits: [] })
  const task = await ann.post<{ ticket_id: string }>('/v1/tasks', { title: 'ship', ask: { question: 'Ship it?' } })
  await refused(t, leo.send('/api/answer', { id: task.ticket_id, answer: 'yes' }), 404, 'TICKET_NOT_FOUND')
  t.equal((await worker.runtime.listDurableObjectIds('ROOM')).length, 2)
  await administer(worker, 'delete-room', { room: 'lab', confirm: 'lab' })
  await refused(t, eve.ask('/v1/messages'), 404, 'ROOM_NOT_FOUND')
  t.match(await ann.get('/v1/messages'), { messages: [{ body: 'only for main' }] }, 'and the other is as it was')
})

t.test('a task is freed by the default of its ticket without anybody asking: the object has an alarm for it', async t => {
  const worker = await startWorker(t)
  const ann = reach(worker, await mint(worker, 'ann'))
  const task = await ann.post<{ id: number, status: string }>('/v1/tasks', { title: 'ship', ask: { question: 'Ship it?', default_answer: 'no', timeout_seconds: 1 } })
  const deadline = performance.now() + DEADLINE_MS
  t.equal(task.status, 'blocked')
  let found = await taskIn(worker, 'main', task.id)
  while (found.status === 'blocked' && performance.now() < deadline) found = await taskIn(worker, 'main', task.id)
  t.equal(found.status, 'pending')
})

t.test('a ticket of the owner is in no room, and frees the task that waits for it, blocks it again and frees it, wherever that is', async t => {
  const worker = await startWorker(t)
  const owner = reach(worker, TOKEN)
  const id = await enqueue(worker)
  const { id: task } = await owner.post<{ id: number }>('/v1/tasks', { title: 'ship', claim: true })
  t.match(await owner.post('/v1/tasks/update', { task_id: task, status: 'blocked', ticket_id: id }), { status: 'blocked', ticket_id: id })
  const until = (status: string) => eventually(async () => (await taskIn(worker, 'local', task)).status === status || undefined, status)
  await owner.post('/api/answer', { id, answer: 'yes' })
  await until('in_progress')
  await owner.post('/api/undo', { id })
  await until('blocked')
  // As much as a queue knows that has slept.
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'QueueObject', { name: 'queue' })
  await owner.post('/api/answer', { id, answer: 'yes after all' })
  t.match(await owner.get(`/v1/task?task_id=${task}`), { status: 'in_progress' }, 'whoever looks sees it, woken only now')
  // Nobody asks when it is due: the object has an alarm for it.
  const due = await enqueue(worker, { timeout_seconds: 3, default_answer: 'no' })
  t.match(await owner.post('/v1/tasks/update', { task_id: task, status: 'blocked', ticket_id: due }), { status: 'blocked' })
  await until('in_progress')
  t.match((await owner.get<{ notes: object[] }>(`/v1/task?task_id=${task}`)).notes, [{ body: /"yes"/ }, { body: /taken back/ }, { body: /"yes after all"/ }, { body: /"no"/ }])
})

t.test('a revocation is seen by a wait that is open, and by whatever comes after it', async t => {
  const worker = await startWorker(t)
  const token = await mint(worker, 'ann')
  const ann = reach(worker, token)
  const { structuredContent: { id } } = await tool(worker, token, 'ask_human', { question: 'Ship it?' })
  await ann.post('/v1/whats-new')
  const waits = [tool(worker, token, 'wait_for_answer', { id, timeout_seconds: 5 }), ann.ask('/v1/wait?timeout_s=5')] as const
  await worker.untilWaiting(1)
  await administer(worker, 'revoke', { agent: 'ann' })
  await refused(t, ann.ask('/v1/messages'), 401, 'UNAUTHORIZED')
  await json(request(worker, '/api/answer', post({ id, answer: 'the secret' })))
  const answer = await waits[0]
  t.equal(answer.isError, true)
  t.notMatch(JSON.stringify(answer), /the secret/)
  await refused(t, waits[1], 401, 'UNAUTHORIZED')
})

t.test('a revocation ends what is open at once: waits long before their time, and an export in the middle', async t => {
  const worker = await startWorker(t)
  const [token, eve] = [await mint(worker, 'ann'), await mint(worker, 'eve')]
  const ann = reach(worker, token)
  const storage = await worker.runtime.unsafeGetDurableObjectStorage('readyroom', 'RoomObject', { name: '["queue","main"]' })
  await storage.exec(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500)
    INSERT INTO messages (room, id, at, author, author_kind, body, require_ack) SELECT 'main', n, '2026-01-01', 'eve', 'agent', hex(zeroblob(8000)), 0 FROM n`)
  const { structuredContent: { id } } = await tool(worker, token, 'ask_human', { question: 'Ship it?' })
  for (const one of [ann, reach(worker, eve)]) await one.post('/v1/whats-new')
  await ann.post('/v1/whats-new')
  const waits = [tool(worker, token, 'wait_for_answer', { id, timeout_seconds: 60 }), tool(worker, token, 'wait_for_change', { timeout_s: 60 })]
  const others = tool(worker, eve, 'wait_for_change', { timeout_s: 4 })
  const waiting = ann.ask('/v1/wait?timeout_s=60')
  await worker.untilWaiting(1)
  const reader = (await fetch(`${worker.origin}/v1/export`, { headers: ann.headers })).body!.getReader()
  let got = (await reader.read()).value!.length
  const start = performance.now()
  await administer(worker, 'revoke', { agent: 'ann' })
  for (const answer of await Promise.all(waits)) t.match(answer, { isError: true, content: [{ text: /revoked/ }] })
  await refused(t, waiting, 401, 'UNAUTHORIZED')
  const ms = performance.now() - start
  t.ok(ms < 2_500, `${ms.toFixed(0)} ms of five seconds`)
  t.match(await others, { structuredContent: { changed: true } }, 'and nobody else\'s')
  await t.rejects((async () => {
    for (let more = await reader.read(); !more.done; more = await reader.read()) got += more.value.length
  })(), 'it is seen to be cut off')
  t.ok(got < 1_500 * 16_000, `${got} bytes`)
})

t.test('what is no token wakes no object, and one that nobody has wakes the queue once', async t => {
  const worker = await startWorker(t)
  const nobody = `rr_${'A'.repeat(43)}`
  for (const token of ['rr_short', `${nobody}A`, `rr_${'!'.repeat(43)}`, 'A'.repeat(46)]) await refused(t, reach(worker, token).ask('/v1/messages'), 401, 'UNAUTHORIZED')
  t.strictSame(await worker.runtime.listDurableObjectIds('QUEUE'), [])
  await refused(t, reach(worker, nobody).ask('/v1/messages'), 401, 'UNAUTHORIZED')
  t.strictSame(await worker.runtime.listDurableObjectIds('ROOM'), [])
  const statuses = new Set<number>()
  for (let n = 0; n < 25; n++) statuses.add((await reach(worker, nobody).ask('/mcp/x', { method: 'POST', headers: { origin: worker.origin, authorization: `Bearer ${nobody}` } })).status)
  t.strictSame([...statuses], [401, 429], 'guessing is counted')
  t.match(await json(request(worker, '/api/tickets')), { tickets: [] }, 'and the owner is admitted all the same')
})

t.test('only the owner\'s secret administers, unless a token that may is allowed to', async t => {
  const off = await startWorker(t)
  const root = await mint(off, 'root', { role: 'admin', all_rooms: true })
  await refused(t, reach(off, root).send('/v1/admin/list', {}), 403, 'FORBIDDEN_SCOPE', /READYROOM_ADMIN_API/)
  await off.close()
  const on = await startWorker(t, { env: { READYROOM_ADMIN_API: 'on' } })
  const [boss, ann] = [reach(on, await mint(on, 'root', { role: 'admin', all_rooms: true })), reach(on, await mint(on, 'ann'))]
  t.match(await boss.post('/v1/admin/list'), { tokens: [{ agent: 'root' }, { agent: 'ann' }], rooms: [{ room: 'main' }] })
  await refused(t, ann.send('/v1/admin/list', {}), 403, 'FORBIDDEN_SCOPE', /server:admin/)
  await refused(t, boss.send('/v1/admin/backup', { file: 'x' }), 404, 'NOT_FOUND')
})

t.test('a queue that was deployed before there were rooms goes on, and has them once they are bound', async t => {
  const persist = t.testdir()
  const before = await startWorker(t, { persist, rooms: false })
  const id = await enqueue(before, { question: 'From before?' })
  await refused(t, request(before, '/v1/messages'), 404, 'NOT_FOUND')
  await refused(t, reach(before, `rr_${'A'.repeat(43)}`).ask('/api/tickets'), 401, 'UNAUTHORIZED')
  await before.close()

  const after = await startWorker(t, { persist })
  t.match(await json(request(after, '/api/tickets')), { tickets: [{ id, question: 'From before?', status: 'pending' }] })
  const ann = reach(after, await mint(after, 'ann'))
  await ann.post('/v1/messages', { body: 'here' })
  t.match(await json(request(after, '/api/answer', post({ id, answer: 'yes' }))), { status: 'answered' })
  t.match(await ann.get('/v1/events?kind=ticket_answered'), { events: [] }, 'what has no room is told to none')
})
