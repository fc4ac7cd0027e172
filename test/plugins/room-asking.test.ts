import t from 'tap'
import { ask } from '../helpers/http'
import { connectHttp } from '../helpers/mcp-clients'
import { eventually } from '../helpers/process'
import { listenWithRooms } from '../helpers/rooms'

const bearer = (token: string | undefined) => token === undefined ? {} : { authorization: `Bearer ${token}` }

const over = (origin: string) => ({
  get: (token: string | undefined, path: string) => ask(origin, path, { headers: bearer(token) }),
  post: (token: string | undefined, path: string, body: object) => ask(origin, path, {
    method: 'POST', headers: { ...bearer(token), 'content-type': 'application/json' }, body: JSON.stringify(body)
  })
})

const json = async (response: Promise<Response> | Response): Promise<Record<string, unknown>> =>
  await (await response).json() as Record<string, unknown>

interface Task { id: number, status: string, owner?: string, ticket_id?: string }

t.test('a question that goes with a task is asked in the room of the task, and its answer there frees the task', async t => {
  const { origin, mint } = await listenWithRooms(t)
  const [bob, lea] = [await mint('bob', { also: ['other'] }), await mint('lea', { role: 'approver', room: 'other' })]
  const { get, post } = over(origin)
  const task = await json(post(bob, '/v1/tasks', { room: 'other', title: 'ship', claim: true, ask: { question: 'Ship it?' } })) as unknown as Task
  t.match(await json(get(lea, `/api/tickets/${task.ticket_id}`)), { room: 'other', asker: 'bob', status: 'pending' })
  await post(lea, '/api/answer', { id: task.ticket_id, answer: 'yes' })
  await eventually(async () => (await json(get(bob, '/v1/task?room=other&task_id=1')))['status'] === 'in_progress' || undefined, 'freed')
})

t.test('where nobody has a token, an answer frees the task that waits for it, made with its question or blocked later', async t => {
  const { origin } = await listenWithRooms(t, { originPolicy: 'spec' })
  const { get, post } = over(origin)
  const task = await json(post(undefined, '/v1/tasks', { title: 'ship', claim: true, ask: { question: 'Ship it?' } })) as unknown as Task
  await post(undefined, '/api/answer', { id: task.ticket_id, answer: 'yes' })
  await eventually(async () => (await json(get(undefined, '/v1/task?task_id=1')))['status'] === 'in_progress' || undefined, 'freed')
  const later = await json(post(undefined, '/v1/tasks', { title: 'tag', claim: true })) as unknown as Task
  const client = await connectHttp(t, 'modern', `${origin}/mcp/laptop`)
  const { structuredContent } = await client.callTool({ name: 'ask_human', arguments: { question: 'Tag it?' } })
  const { id } = structuredContent as { id: string }
  await json(post(undefined, '/v1/tasks/update', { task_id: later.id, status: 'blocked', ticket_id: id }))
  await post(undefined, '/api/answer', { id, answer: 'yes' })
  await eventually(async () => (await json(get(undefined, '/v1/task?task_id=2')))['status'] === 'in_progress' || undefined, 'freed')
  const { events } = await json(get(undefined, '/v1/events?kind=ticket_enqueued')) as unknown as { events: object[] }
  t.match(events, [{ actor: 'human', actor_kind: 'owner' }])
})

t.test('a task waits for nobody\'s ticket of another room, not even for the owner: its answer would not find the task', async t => {
  const secret = 'a-secret-of-the-owner-0123456789'
  const { origin, mint } = await listenWithRooms(t, { originPolicy: 'spec', token: secret })
  const owner = over(origin)
  const theirs = await json(owner.post(secret, '/v1/tasks', { title: 'ship', claim: true })) as unknown as Task
  const client = await connectHttp(t, 'modern', `${origin}/mcp`, bearer(await mint('ann')))
  const { id } = (await client.callTool({ name: 'ask_human', arguments: { question: 'Ship it?' } })).structuredContent as { id: string }
  const refused = await owner.post(secret, '/v1/tasks/update', { task_id: theirs.id, status: 'blocked', ticket_id: id })
  t.match([refused.status, await json(refused)], [403, { error: 'NOT_YOUR_TICKET' }])
})

t.test('who may not ask does not ask by way of a task', async t => {
  const { origin, mint } = await listenWithRooms(t)
  const lea = await mint('lea', { role: 'approver' })
  const { get, post } = over(origin)
  const refused = await post(lea, '/v1/tasks', { title: 'ship', ask: { question: 'Ship it?' } })
  t.equal(refused.status, 403)
  t.match(await json(refused), { error: 'FORBIDDEN_SCOPE', message: /tickets:ask/ })
  t.strictSame((await json(get(lea, '/v1/tasks')))['tasks'], [])
  t.strictSame((await json(get(lea, '/api/tickets')))['tickets'], [])
})

t.test('a question to a task keeps the rules of every question: a blank one makes no task', async t => {
  const { origin, mint } = await listenWithRooms(t)
  const ann = await mint('ann')
  const { get, post } = over(origin)
  for (const question of [{ question: ' \u200b' }, { question: 'Ship it?', options: ['yes', 'Yes'] }]) {
    t.equal((await post(ann, '/v1/tasks', { title: 'ship', ask: question })).status, 400)
  }
  t.strictSame((await json(get(ann, '/v1/tasks')))['tasks'], [])
})

t.test('a task whose ticket is refused is nothing to take up', async t => {
  const { origin, mint } = await listenWithRooms(t, { originPolicy: 'spec' })
  const ann = await mint('ann')
  const { get } = over(origin)
  const client = await connectHttp(t, 'modern', `${origin}/mcp/bob`, { authorization: `Bearer ${ann}` })
  const made = await client.callTool({ name: 'create_task', arguments: { title: 'ship', claim: true, ask: { question: 'Ship it?' } } })
  t.match(made, { isError: true, content: [{ text: /stream/ }] })
  t.strictSame((await json(get(ann, '/v1/tasks?status=open')))['tasks'], [])
  t.match(await json(get(ann, '/v1/task?task_id=1')), { status: 'cancelled', notes: [{ author: 'system', body: /refused/ }] })
})

t.test('a wait ends at once with its token, even where its agent holds another, and with its room', async t => {
  const { origin, mint, admin, rooms } = await listenWithRooms(t, { originPolicy: 'spec' })
  const [first, second] = [await mint('ann'), await mint('ann')]
  const { get, post } = over(origin)
  await post(first, '/v1/whats-new', {})
  const begun = performance.now()
  const waiting = get(first, '/v1/wait?timeout_s=60')
  await eventually(async () => rooms.feed.isWatched || undefined, 'waiting')
  await admin.run('revoke', { id: 1 })
  t.equal((await waiting).status, 401)
  const other = get(second, '/v1/wait?timeout_s=60')
  await eventually(async () => rooms.feed.isWatched || undefined, 'waiting again')
  await admin.run('delete-room', { room: 'main', confirm: 'main' })
  t.equal((await other).status, 404)
  t.ok(performance.now() - begun < 30_000)
})
