import type { Test } from 'tap'
import { mintId } from '../../lib/lifecycle'
import type { AdminInput } from '../../schemas/admin'
import type { Ticket } from '../../schemas/ticket'
import type { WhoAmI } from '../../schemas/v1'
import { json, JSON_TYPE, post, refused, type OpenTarget } from './http-target'

export interface V1OpenTarget extends OpenTarget {
  /** Mints a token, in the room `main` unless it says otherwise. */
  mint (agent: string, more?: Partial<AdminInput<'add-token'>>): Promise<string>
  /** Revokes all tokens of an agent. */
  revoke (agent: string): Promise<void>
}

export interface V1Target {
  name: string
  open (t: Test): Promise<V1OpenTarget>
}

/** What one holder of a token sends and gets. */
export function callerOf (target: OpenTarget, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  return {
    headers,
    get: <T>(path: string): Promise<T> => json<T>(target.request(path, { headers })),
    post: <T>(path: string, body: object = {}): Promise<T> => json<T>(target.request(path, post(body, headers))),
    ask: (path: string, init: object = {}): Promise<Response> => target.request(path, { headers, ...init }),
    send: (path: string, body: unknown): Promise<Response> => target.request(path, post(body, headers))
  }
}

interface Listed { id: number, title: string, status: string }

/** The room over HTTP, as every target serves it. */
export function v1Contract (t: Test, { name, open }: V1Target): void {
  const test = (what: string, run: (t: Test, target: V1OpenTarget) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async t => run(t, await open(t)))
  }

  test('what one posts another reads, and is told as new once', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const bob = callerOf(target, await target.mint('bob'))
    await bob.post('/v1/whats-new')
    t.match(await ann.post('/v1/messages', { body: 'hello @bob', to: ['bob'] }), { id: 1, mentions: ['bob'] })
    t.match(await bob.get('/v1/messages?limit=5'), { messages: [{ id: 1, author: 'ann', body: 'hello @bob' }], untrusted: /data/ })
    const { events } = await bob.post<{ events: Array<{ kind: string, message_id?: number }> }>('/v1/whats-new')
    t.strictSame(events.filter(({ kind }) => kind === 'message_posted').map(({ message_id: id }) => id), [1])
    t.strictSame((await bob.post<{ events: object[] }>('/v1/whats-new')).events, [])
  })

  test('a call with an Idempotency-Key is done once, over /v1 and over MCP; it is the caller\'s own, and for these arguments', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const bob = callerOf(target, await target.mint('bob'))
    const keyed = <T>(who: typeof ann, key: string, path: string, body: object): Promise<T> =>
      json<T>(target.request(path, post(body, { ...who.headers, 'idempotency-key': key })))
    t.match(await keyed(ann, 'k1', '/v1/messages', { body: 'hello' }), { id: 1 })
    t.match(await keyed(ann, 'k1', '/v1/messages', { body: 'hello' }), { id: 1 })
    t.match(await keyed(ann, 'k1', '/v1/messages', { body: 'another' }), { id: 2 })
    t.match(await keyed(bob, 'k1', '/v1/messages', { body: 'hello' }), { id: 3 })
    t.equal((await ann.get<{ messages: object[] }>('/v1/messages')).messages.length, 3)
    const asking = { title: 'Ship', ask: { question: 'Ship it?' } }
    const task = await keyed<Listed & { ticket_id: string }>(ann, 'k2', '/v1/tasks', asking)
    t.match(await keyed(ann, 'k2', '/v1/tasks', asking), { id: task.id, ticket_id: task.ticket_id })
    await refused(t, target.request('/v1/messages', post({ body: 'x' }, { ...ann.headers, 'idempotency-key': 'two words' })), 400, 'BAD_REQUEST', /Idempotency-Key/)

    const call = async (
      who: typeof ann, key: string, name: string, args: object
    ): Promise<{ isError?: boolean, structuredContent?: object, content: object[] }> => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
      const headers = { ...who.headers, accept: 'application/json', origin: target.origin, 'idempotency-key': key }
      return (await json<{ result: { content: object[] } }>(target.request('/mcp/', post(message, headers)))).result
    }
    t.match(await call(ann, 'k1', 'post_message', { body: 'hello' }), { structuredContent: { id: 1 } })
    const key = mintId(Date.now())
    const asked = await call(ann, key, 'ask_human', { question: 'May I?' })
    t.strictSame(await call(ann, key, 'ask_human', { question: 'May I?' }), asked)
    t.notSame((await call(bob, key, 'ask_human', { question: 'May I?' })).structuredContent, asked.structuredContent)
    t.match(await call(ann, 'k1', 'ask_human', { question: 'May I?' }), { isError: true, content: [{ text: /UUID of version 7/ }] })
    const { tickets } = await ann.get<{ tickets: Ticket[] }>('/api/tickets')
    t.strictSame(tickets.map(({ question, asker }) => `${asker}: ${question}`).sort(), ['ann: May I?', 'ann: Ship it?', 'bob: May I?'])
  })

  test('numbers and lists of a query are read by their schemas, and what is neither is refused in a sentence', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    await ann.post('/v1/tasks', { title: 'paint the fence' })
    await ann.post('/v1/messages', { body: 'who has paint?' })
    t.equal((await ann.get<{ hits: object[] }>('/v1/search?query=paint')).hits.length, 2)
    t.match(await ann.get('/v1/search?query=paint&kinds=task'), { hits: [{ kind: 'task', id: 1 }] })
    t.equal((await ann.get<{ hits: object[] }>('/v1/search?query=paint&kinds=task,message')).hits.length, 2)
    t.equal((await ann.get<{ hits: object[] }>('/v1/search?query=paint&kinds=task&kinds=message')).hits.length, 2)
    t.match(await ann.get('/v1/wait?timeout_s=0.01'), { changed: false })
    for (const path of ['/v1/messages?limit=0x10', '/v1/messages?limit=', '/v1/messages?since_id=-1', '/v1/search?query=x&kinds=cow', '/v1/task', '/v1/wait?timeout_s=1e3']) {
      await refused(t, ann.ask(path), 400, 'BAD_REQUEST')
    }
    await refused(t, ann.ask('/v1/messages?token=secret'), 400, 'BAD_REQUEST', /unknown field "token"/)
    await refused(t, ann.send('/v1/messages?room=main', { body: 'x' }), 400, 'BAD_REQUEST', /query/)
    await refused(t, ann.send('/v1/messages', { body: '' }), 400, 'BAD_REQUEST', /body must have at least 1 character/)
  })

  test('a task goes from hand to hand, and whoever is late is told who has it', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const bob = callerOf(target, await target.mint('bob'))
    t.match(await ann.post('/v1/tasks', { title: 'one' }), { id: 1, status: 'pending' })
    t.match(await ann.post('/v1/tasks', { title: 'two', depends_on: [1] }), { id: 2 })
    t.match(await ann.get<{ tasks: Listed[] }>('/v1/tasks?status=ready'), { tasks: [{ id: 1 }] })
    t.match(await bob.post('/v1/tasks/claim', { task_id: 1, lease_seconds: 60 }), { owner: 'bob', status: 'in_progress' })
    await refused(t, ann.send('/v1/tasks/claim', { task_id: 1 }), 409, 'TASK_NOT_OWNED', /bob/)
    await refused(t, ann.send('/v1/tasks/claim', { task_id: 2 }), 409, 'TASK_NOT_READY')
    t.match(await ann.post('/v1/tasks/note', { task_id: 1, body: 'mind the cat' }), { task_id: 1 })
    t.match(await bob.post('/v1/tasks/update', { task_id: 1, status: 'done' }), { status: 'done' })
    t.match(await bob.get('/v1/task?task_id=1'), { status: 'done', notes: [{ body: 'mind the cat' }] })
    t.match(await ann.post('/v1/tasks/claim', { task_id: 2 }), { owner: 'ann' })
    t.match(await ann.post('/v1/tasks/release', { task_id: 2, reason: 'lunch' }), { status: 'pending' })
    await refused(t, ann.ask('/v1/task?task_id=9'), 404, 'TASK_NOT_FOUND')
  })

  test('a task that asks enqueues a ticket of its agent, which an approver answers and which frees the task', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const lea = callerOf(target, await target.mint('lea', { role: 'approver' }))
    const task = await ann.post<{ id: number, ticket_id: string, status: string }>('/v1/tasks', { title: 'ship', claim: true, ask: { question: 'Ship it?', options: ['yes', 'no'] } })
    t.match(task, { status: 'blocked' })
    await refused(t, target.request('/api/answer', post({ id: task.ticket_id, answer: 'yes' }, ann.headers)), 403, 'FORBIDDEN_SCOPE', /tickets:answer/)
    t.match(await lea.post<Ticket>('/api/answer', { id: task.ticket_id, answer: 'yes' }), { status: 'answered' })
    for (;;) {
      const { status } = await ann.get<{ status: string }>(`/v1/task?task_id=${task.id}`)
      if (status === 'in_progress') break
      t.equal(status, 'blocked')
      await ann.get('/v1/wait?timeout_s=5')
      await ann.post('/v1/whats-new')
    }
  })

  test('what is unread is counted exactly, shown up to a limit, and stays unread until the cursor is moved', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const bob = callerOf(target, await target.mint('bob'))
    const { through: start } = await bob.get<{ through: number }>('/v1/unread')
    for (const body of ['one', 'two', 'three']) await ann.post('/v1/messages', { body })
    const first = await bob.get<{ unread: number, through: number, events: object[], agent: string }>('/v1/unread?limit=2')
    t.match(first, { room: 'main', agent: 'bob', unread: 4, more: true, untrusted: /data/ }, 'ann has joined, too')
    t.equal(first.events.length, 2)
    t.match(await bob.get('/v1/unread'), { unread: 4 }, 'nothing was moved')
    t.strictSame(await bob.post('/v1/cursor', { through: first.through }), { room: 'main', through: first.through })
    t.match(await bob.get('/v1/unread'), { unread: 2 })
    t.strictSame(await bob.post('/v1/cursor', { through: start }), { room: 'main', through: first.through }, 'never back')
    const { through } = await bob.post<{ through: number }>('/v1/cursor', { through: 1_000_000 })
    t.match(await bob.get('/v1/unread'), { unread: 0, through, events: [] }, 'and never past the end')
  })

  test('whoever asks again and again is shown, and counted, what is later than what it knows and than the cursor', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const bob = callerOf(target, await target.mint('bob'))
    const { through: now } = await bob.get<{ through: number }>('/v1/unread?since=999999999999999')
    for (const body of ['one', 'two', 'three']) await ann.post('/v1/messages', { body })
    const one = await bob.get<{ through: number, events: object[] }>(`/v1/unread?since=${now}&limit=2`)
    t.match(one, { unread: 4, more: true })
    t.match(await bob.get(`/v1/unread?since=${one.through}`), { unread: 2, events: [{ body: 'two' }, { body: 'three' }] })
    await bob.post('/v1/cursor', { through: one.through + 1 })
    t.match(await bob.get(`/v1/unread?since=${one.through}`), { unread: 1, events: [{ body: 'three' }] }, 'what was read is not shown again')
    t.match(await bob.get(`/v1/unread?since=${now + 1_000}`), { unread: 0, events: [], through: one.through + 2 }, 'a log that is not that long says where it ends')
    await refused(t, bob.ask('/v1/unread?since=-1'), 400, 'BAD_REQUEST')
  })

  test('a watcher and a hook say what they cost, each for its own agent', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    await ann.post('/v1/attention', { kind: 'wake' })
    await ann.post('/v1/attention', { kind: 'inject', n: 2 })
    t.match(await ann.get('/v1/attention'), { room: 'main', agents: [{ agent: 'ann', wakeups: 1, injections: 2 }], pairs: [] })
  })

  test('a file comes back byte for byte, as something to keep and never to show', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n)
    const name = 'a "b" ü;\'x.html'
    const file = await ann.post<{ id: number, sha256: string }>('/v1/files', { name, content_base64: Buffer.from(bytes).toString('base64'), mime: 'text/html' })
    t.match(await ann.get('/v1/files'), { files: [{ id: file.id, name, size: 256 }] })
    const response = await ann.ask(`/v1/files/${file.id}`)
    t.strictSame(new Uint8Array(await response.arrayBuffer()), bytes)
    t.match(Object.fromEntries(response.headers), {
      'content-type': 'application/octet-stream',
      'content-disposition': "attachment; filename=\"a _b_ _;'x.html\"; filename*=UTF-8''a%20%22b%22%20%C3%BC%3B%27x.html",
      'content-security-policy': /^sandbox; default-src 'none'/,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'x-readyroom-sha256': file.sha256
    })
    t.match(await ann.get(`/v1/file?file_id=${file.id}&offset=250`), { offset: 250, content_base64: Buffer.from(bytes.subarray(250)).toString('base64') })
    await refused(t, ann.ask('/v1/files/99'), 404, 'FILE_NOT_FOUND')
    await refused(t, ann.ask('/v1/files/x'), 400, 'BAD_REQUEST')
    t.match(await ann.post('/v1/files/delete', { file_id: file.id }), { deleted: true })
    await refused(t, ann.ask(`/v1/files/${file.id}`), 404, 'FILE_NOT_FOUND')
  })

  test('a file of the greatest size goes up, and one of a byte more is told the limit', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const most = 1_024 * 1_024
    t.match(await ann.post('/v1/files', { name: 'full', content_base64: Buffer.alloc(most, 7).toString('base64') }), { size: most })
    await refused(t, ann.send('/v1/files', { name: 'over', content_base64: Buffer.alloc(most + 1).toString('base64') }), 400, 'BAD_REQUEST', /1,048,576 bytes/)
    await refused(t, ann.send('/v1/files', { name: 'far', content_base64: 'A'.repeat(2 * most) }), 413, 'TOO_LARGE', /1,463,638/)
    await refused(t, ann.send('/v1/messages', { body: 'A'.repeat(most + 1) }), 413, 'TOO_LARGE', /1,048,576/)
  })

  test('all that a room holds can be taken along, as lines for programs or as text for people', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    for (let n = 0; n < 250; n++) await ann.post('/v1/messages', { body: `message ${n}` })
    const response = await ann.ask('/v1/export')
    t.match(Object.fromEntries(response.headers), { 'content-type': 'application/jsonl; charset=utf-8', 'content-disposition': 'attachment; filename="main.jsonl"' })
    const lines = (await response.text()).trim().split('\n').map(line => JSON.parse(line) as { type: string, body?: string })
    t.equal(lines[0]!.type, 'room')
    t.strictSame(lines.filter(({ type }) => type === 'message').map(({ body }) => body), Array.from({ length: 250 }, (_, n) => `message ${n}`))
    t.match(await (await ann.ask('/v1/export?format=md&room=main')).text(), /^# The room main\n[^]*message 249/)
    await refused(t, ann.ask('/v1/export?format=csv'), 400, 'BAD_REQUEST')
    await refused(t, ann.ask('/v1/export?room=lab'), 403, 'FORBIDDEN_ROOM')
  })

  test('a credential is told who it is and where it may go, and gets nowhere else', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const eve = callerOf(target, await target.mint('eve', { room: 'lab', role: 'observer' }))
    t.match(await ann.get<WhoAmI>('/v1/rooms'), { name: 'ann', kind: 'agent', home: 'main', rooms: [{ room: 'main' }], scopes: ['tickets:ask', 'tickets:read', 'room:read', 'room:write'] })
    const seen = await eve.get<WhoAmI>('/v1/rooms')
    t.strictSame(seen.rooms.map(({ room }) => room), ['lab'])
    for (const path of ['/v1/messages?room=main', '/v1/unread?room=main', '/v1/files/1?room=main', '/v1/stream?room=main']) await refused(t, eve.ask(path), 403, 'FORBIDDEN_ROOM', /lab/)
    await refused(t, eve.send('/v1/cursor', { room: 'main', through: 1 }), 403, 'FORBIDDEN_ROOM')
    await refused(t, eve.send('/v1/messages', { body: 'x' }), 403, 'FORBIDDEN_SCOPE', /room:write/)
    await refused(t, ann.send('/v1/retention', { days: 1 }), 403, 'FORBIDDEN_SCOPE', /room:admin/)
  })

  test('without a credential, with a wrong one or a revoked one there is nothing', async (t, target) => {
    const token = await target.mint('ann')
    const ann = callerOf(target, token)
    for (const path of ['/v1/messages', '/v1/rooms', '/v1/unread', '/v1/stream', '/v1/files/1']) {
      await refused(t, target.request(path), 401, 'UNAUTHORIZED')
      await refused(t, callerOf(target, 'rr_wrong').ask(path), 401, 'UNAUTHORIZED')
    }
    await refused(t, target.request(`/v1/messages?token=${token}`), 401, 'UNAUTHORIZED')
    await ann.post('/v1/messages', { body: 'x' })
    await target.revoke('ann')
    await refused(t, ann.send('/v1/messages', { body: 'x' }), 401, 'UNAUTHORIZED')
  })

  test('pages of other origins, other methods and other addresses are refused as everywhere', async (t, target) => {
    const ann = callerOf(target, await target.mint('ann'))
    const headers = { ...ann.headers, origin: 'https://evil.example' }
    await refused(t, target.request('/v1/messages', { headers }), 403, 'FORBIDDEN_ORIGIN')
    await refused(t, target.request('/v1/messages', post({ body: 'x' }, headers)), 403, 'FORBIDDEN_ORIGIN')
    await refused(t, target.request('/v1/messages', { headers: { ...ann.headers, 'sec-fetch-site': 'cross-site' } }), 403, 'FORBIDDEN_ORIGIN')
    t.match(await json(target.request('/v1/messages', post({ body: 'from a script' }, { ...ann.headers, origin: target.origin }))), { id: 1 })
    const other = await refused(t, target.request('/v1/messages', { method: 'DELETE', headers: ann.headers }), 405, 'METHOD_NOT_ALLOWED')
    t.equal(other.headers.get('allow'), 'GET, HEAD, POST')
    for (const path of ['/v1/stream', '/v1/wait']) t.equal((await target.request(path, { method: 'HEAD', headers: ann.headers })).status, 405)
    t.equal((await target.request('/v1/tasks', { method: 'HEAD', headers: ann.headers })).status, 200)
    await refused(t, ann.ask('/v1/nothing'), 404, 'NOT_FOUND')
    await refused(t, target.request('/v1/messages', { method: 'POST', headers: { ...ann.headers, 'content-type': 'text/plain' }, body: '{}' }), 415, 'UNSUPPORTED_MEDIA_TYPE')
    await refused(t, target.request('/v1/messages', { method: 'POST', headers: { ...ann.headers, ...JSON_TYPE }, body: '{' }), 400, 'BAD_REQUEST')
    await refused(t, ann.send('/v1/room/delete', { room: 'main', confirm: 'main' }), 403, 'FORBIDDEN_SCOPE')
  })
}
