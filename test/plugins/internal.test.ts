import t from 'tap'
import type { DaemonStatus, Identity, JoinReply, ToolReply } from '../../schemas/internal'
import { mintId } from '../../lib/lifecycle'
import { OWNER } from '../../lib/principal'
import { Link, NONCE_HEADER, TAG_HEADER } from '../../lib/node/link'
import { callKey, newNonce, proofOf, responseTag, tokenTag, unseal } from '../../lib/node/proof'
import { internalOptions, listenAsDaemon } from '../helpers/internal'
import { build } from '../helpers/build'
import { eventually } from '../helpers/process'

const soon = { timeoutMs: 5_000 }
const TOKEN = 'a-token-that-nobody-guesses'

t.test('without its options there are no such routes', async t => {
  const app = await build(t)
  const headers = { host: '127.0.0.1:8971' }
  for (const url of ['/internal/identity', '/internal/status']) t.equal((await app.inject({ url, headers })).statusCode, 404)
  t.equal((await app.inject({ method: 'POST', url: '/internal/prove', headers, payload: { nonce: newNonce() } })).statusCode, 404)
})

t.test('a nonce is answered with a proof, and never with the secret', async t => {
  const { origin, port, internal } = await listenAsDaemon(t)
  const nonce = newNonce()
  const response = await fetch(`${origin}/internal/prove`, {
    method: 'POST', body: JSON.stringify({ nonce }), headers: { 'content-type': 'application/json', [NONCE_HEADER]: nonce }
  })
  const text = await response.text()
  t.same(JSON.parse(text), {
    instance: 'test-instance', port, version: '1.2.3', protocol: 1, proof: proofOf(internal.secret, nonce, 'test-instance', port)
  })
  t.notMatch(text, internal.secret)
  t.equal(response.headers.get(TAG_HEADER), null, 'whoever has not shown the key gets nothing signed')
})

t.test('a nonce too short to be one, and a body too much, are refused', async t => {
  const { app } = await listenAsDaemon(t)
  for (const payload of [{}, { nonce: 'short' }, { nonce: 'x'.repeat(201) }, { nonce: newNonce(), more: 1 }, { nonce: 1 }]) {
    const response = await app.inject({ method: 'POST', url: '/internal/prove', payload, headers: { host: '127.0.0.1:8971' } })
    t.match(response.json(), { error: 'BAD_REQUEST' }, JSON.stringify(payload))
  }
})

t.test('identity tells a process of this machine whose port it is, and the folder only where no token is set', async t => {
  const open = await listenAsDaemon(t)
  t.same(await (await fetch(`${open.origin}/internal/identity`)).json() as Identity, {
    readyroom: true, version: '1.2.3', protocol: 1, instance: 'test-instance', uid: process.getuid?.() ?? -1, state_dir: '/state'
  })
  const settings = { ...internalOptions().settings, token: TOKEN }
  const guarded = await listenAsDaemon(t, { settings })
  const identity = await (await fetch(`${guarded.origin}/internal/identity`)).json() as Identity
  t.equal(identity.state_dir, undefined)
  t.equal(identity.readyroom, true)
})

t.test('what comes from elsewhere, through a proxy or from a browser finds nothing', async t => {
  const { app, port } = await listenAsDaemon(t)
  const host = `127.0.0.1:${port}`
  const url = '/internal/identity'
  t.equal((await app.inject({ url, headers: { host: '127.0.0.1:8971' } })).statusCode, 200)
  t.equal((await app.inject({ url, headers: { host: '127.0.0.1:8971' }, remoteAddress: '192.0.2.7' })).statusCode, 404)
  for (const headers of [
    { 'x-forwarded-for': '127.0.0.1' }, { forwarded: 'for=127.0.0.1' }, { via: '1.1 proxy' }, { 'x-real-ip': '127.0.0.1' },
    { 'x-forwarded-port': '443' }, { 'cf-ray': '1' }, { 'cdn-loop': 'cloudflare' }, { 'true-client-ip': '127.0.0.1' }
  ]) t.equal((await fetch(`http://${host}${url}`, { headers: headers as unknown as Record<string, string> })).status, 404, JSON.stringify(headers))
  t.equal((await app.inject({ url, headers: { host: '127.0.0.1:8971', origin: 'http://127.0.0.1:8971' } })).statusCode, 404)
  t.equal((await app.inject({ url, headers: { host: '127.0.0.1:8971', origin: 'https://evil.example' } })).statusCode, 403)
  t.equal((await app.inject({ url, headers: { host: '127.0.0.1:8971', 'sec-fetch-site': 'cross-site' } })).statusCode, 403)
  t.equal((await app.inject({ url, headers: { host: 'evil.example' } })).statusCode, 421)
})

t.test('without the key nothing is called and nothing is signed, the owner\'s token being none', async t => {
  const settings = { ...internalOptions().settings, token: TOKEN }
  const { origin, internal } = await listenAsDaemon(t, { settings })
  for (const [method, path] of [
    ['POST', 'tool-call'], ['GET', 'status'], ['GET', 'join'], ['GET', 'attach?pid=1&version=1'], ['POST', 'stop'], ['POST', 'hand-over']
  ] as const) {
    for (const authorization of [undefined, `Bearer ${TOKEN}`, 'Readyroom', `Readyroom ${internal.secret}`]) {
      const response = await fetch(`${origin}/internal/${path}`, {
        method,
        ...(method === 'POST' && { body: '{}' }),
        headers: { 'content-type': 'application/json', [NONCE_HEADER]: newNonce(), ...(authorization !== undefined && { authorization }) }
      })
      t.equal(response.status, 401, `${path} with ${authorization?.slice(0, 9)}`)
      t.equal(response.headers.get(TAG_HEADER), null)
      await response.body?.cancel()
    }
  }
})

t.test('with the key but no nonce a call is refused', async t => {
  const { origin, internal } = await listenAsDaemon(t)
  const response = await fetch(`${origin}/internal/status`, { headers: { authorization: `Readyroom ${callKey(internal.secret)}` } })
  t.equal(response.status, 400)
  t.match(await response.json(), { error: 'BAD_REQUEST', message: /x-readyroom-nonce/ })
})

t.test('a client calls all four tools, and a call sent twice does a thing once', async t => {
  const { file, desk } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const call = (body: object) => link.call<ToolReply>('POST', '/internal/tool-call', body, soon)

  const id = mintId(Date.now())
  const ask = { stream: 'agent', question: 'Ship it?', options: ['yes', 'no'] }
  const first = await call({ tool: 'ask_human', id, ask })
  t.same(await call({ tool: 'ask_human', id, ask }), first)
  t.match(first.ticket, { id, stream: 'agent', options: ['yes', 'no'], status: 'pending' })
  t.equal(desk.pendingCount, 1)

  t.match(await call({ tool: 'list_pending' }), { pending: { tickets: [{ id }] } })
  t.match(await call({ tool: 'wait_for_answer', id, wait_ms: 0 }), { ticket: { id, status: 'pending' } })
  t.match(await call({ tool: 'cancel_ticket', id }), { ticket: { status: 'cancelled' } })
  t.match(await call({ tool: 'cancel_ticket', id }), { ticket: { status: 'cancelled' } })
})

t.test('a refusal of the desk arrives as the same refusal', async t => {
  const { file, desk } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const call = (body: object) => link.call<ToolReply>('POST', '/internal/tool-call', body, soon)
  await t.rejects(call({ tool: 'wait_for_answer', id: 'none' }), { name: 'ReadyroomError', code: 'TICKET_NOT_FOUND', message: /"none"/ })
  await t.rejects(call({ tool: 'ask_human', id: 'a', ask: { question: '', stream: 'agent' } }), { code: 'BAD_REQUEST', message: /question/ })
  await t.rejects(call({ tool: 'ask_human', id: 'a', ask: { question: 'What?' } }), { code: 'BAD_REQUEST', message: /stream/ })
  await t.rejects(call({ tool: 'ask_human', ask: { question: 'What?', stream: 'agent' } }), { code: 'BAD_REQUEST', message: /id/ })
  await t.rejects(call({ tool: 'wait_for_answer', id: 'none', wait_ms: 20_001 }), { code: 'BAD_REQUEST', message: /20,000/ })
  await t.rejects(call({ tool: 'drain' }), { code: 'BAD_REQUEST', message: /ask_human/ })
  const ticket = await desk.ask({ stream: 'agent', question: 'What?' })
  await desk.answer(ticket.id, 'this', OWNER)
  await t.rejects(call({ tool: 'cancel_ticket', id: ticket.id }), { code: 'TICKET_SETTLED', ticket: { status: 'answered', answer: 'this' } })
})

t.test('the largest ticket there may be passes', async t => {
  const { file } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const ask = {
    stream: '\u{1F600}'.repeat(100),
    question: '\u{1F600}'.repeat(2_000),
    context: '\u0001'.repeat(65_536),
    default_answer: '\u{1F600}'.repeat(2_000),
    options: ['a', 'b', 'c', 'd', 'e'].map(letter => letter + '\u{1F600}'.repeat(199))
  }
  const { ticket } = await link.call<ToolReply>('POST', '/internal/tool-call', { tool: 'ask_human', id: 'large', ask }, soon)
  t.equal(ticket?.context, ask.context)
  t.same(ticket?.options, ask.options)
})

t.test('a wait ends with the answer, and a client that goes away frees its waiter', async t => {
  const { file, desk } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const { id } = await desk.ask({ stream: 'agent', question: 'What?' })
  const wait = (signal?: AbortSignal) =>
    link.call<ToolReply>('POST', '/internal/tool-call', { tool: 'wait_for_answer', id, wait_ms: 20_000 }, { timeoutMs: 25_000, signal })

  const given = new AbortController()
  const gone = wait(given.signal)
  await eventually(() => desk.waiting === 1 || undefined, 'desk.waiting === 1')
  given.abort(new Error('the agent has left'))
  await t.rejects(gone, { message: 'the agent has left' })
  await eventually(() => desk.waiting === 0 || undefined, 'desk.waiting === 0')

  const answered = wait()
  await eventually(() => desk.waiting === 1 || undefined, 'desk.waiting === 1')
  await desk.answer(id, 'this', OWNER)
  t.match(await answered, { ticket: { status: 'answered', answer: 'this' } })
})

t.test('attached clients are counted while their stream is open, whichever side ends it', async t => {
  const { app, file, internal: { clients } } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const first = await link.attach(41, '1.2.3', soon)
  const second = await link.attach(42, '1.3.0+b d', soon)
  t.same(clients.list(), [{ pid: 41, version: '1.2.3' }, { pid: 42, version: '1.3.0+b d' }])
  t.match(await link.call<DaemonStatus>('GET', '/internal/status', undefined, soon), { clients: [{ pid: 41 }, { pid: 42 }] })
  first.detach()
  await first.ended
  await eventually(() => clients.size === 1 || undefined, 'clients.size === 1')
  clients.say('hand-over')
  await app.close()
  await second.ended
  t.equal(second.farewell, 'hand-over')
  t.equal(first.farewell, undefined)
  t.equal(clients.size, 0)
})

t.test('closing takes no longer for attached clients', async t => {
  const { app, file } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const attached = await Promise.all(Array.from({ length: 20 }, (_, i) => link.attach(100 + i, '1.2.3', soon)))
  const start = performance.now()
  await app.close()
  t.ok(performance.now() - start < 700, 'before the grace for answers under way is over')
  await Promise.all(attached.map(({ ended }) => ended))
})

t.test('status and join say what a client must know, the token never', async t => {
  const settings = { ...internalOptions().settings, token: TOKEN, allowedOrigins: ['https://desk.example'] }
  const { file, port, desk, internal } = await listenAsDaemon(t, { settings, lingering: true })
  await desk.ask({ stream: 'agent', question: 'What?' })
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const status = await link.call<DaemonStatus>('GET', '/internal/status', undefined, soon)
  t.same(status, {
    pid: process.pid,
    port,
    version: '1.2.3',
    protocol: 1,
    instance: 'test-instance',
    started_at: internal.startedAt,
    state_dir: '/state',
    bind: '127.0.0.1',
    token_set: true,
    lingering: true,
    pending: 1,
    waiting: 0,
    pages: 0,
    clients: []
  })
  const join = await link.call<JoinReply>('GET', '/internal/join', undefined, soon)
  t.same(join.status, status)
  t.equal(join.token_tag, tokenTag(internal.secret, TOKEN))
  t.same(JSON.parse(unseal(internal.secret, 'settings', join.sealed)), settings)
  t.notMatch(JSON.stringify(join), TOKEN)
})

t.test('stop and hand-over are carried out once their answer is out', async t => {
  const done: string[] = []
  const { file } = await listenAsDaemon(t, {
    onStop: () => { done.push('stop') }, onHandOver: to => { done.push(`hand over to ${to.version}`) }
  })
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  t.same(await link.call('POST', '/internal/stop', {}, soon), { done: true })
  await eventually(() => done.length === 1 || undefined, 'done.length === 1')
  for (const version of ['1.2.3', '1.2.2', 'newest']) {
    await t.rejects(link.call('POST', '/internal/hand-over', { version, protocol: 1 }, soon), { code: 'BAD_REQUEST', message: /not newer/ })
  }
  t.same(await link.call('POST', '/internal/hand-over', { version: '1.3.0', protocol: 1 }, soon), { done: true })
  await eventually(() => done.length === 2 || undefined, 'done.length === 2')
  t.same(done, ['stop', 'hand over to 1.3.0'])
})

t.test('a failure while closing is not signed, so that the call is made again elsewhere', async t => {
  const { app, file, internal, origin } = await listenAsDaemon(t)
  const nonce = newNonce()
  const headers = { authorization: `Readyroom ${callKey(file.secret)}`, [NONCE_HEADER]: nonce }
  const before = await fetch(`${origin}/internal/status`, { headers })
  t.equal(before.headers.get(TAG_HEADER), responseTag(internal.secret, nonce, '/internal/status', 200, await before.text()))
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const ticket = await app.readyroom.desk.ask({ stream: 'agent', question: 'What?' })
  const waits = link.call<ToolReply>('POST', '/internal/tool-call', { tool: 'wait_for_answer', id: ticket.id, wait_ms: 20_000 }, { timeoutMs: 25_000 })
  await eventually(() => app.readyroom.desk.waiting === 1 || undefined, 'app.readyroom.desk.waiting === 1')
  const closed = app.close()
  t.match(await waits, { ticket: { status: 'pending' } }, 'what waits is answered as it is')
  await closed
  await t.rejects(link.call('GET', '/internal/status', undefined, soon), { name: 'LinkError' })
})
