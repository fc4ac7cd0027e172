import type { Socket } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import sse from '@fastify/sse'
import fastifyStatic from '@fastify/static'
import Fastify from 'fastify'
import Type from 'typebox'
import t from 'tap'
import { MemoryTicketStore } from '../../lib/memory-store'
import readyroom, { type Readyroom, type ServiceOptions } from '../../plugins/readyroom'
import { PORT } from '../helpers/build'
import { ask } from '../helpers/http'

const options = (more: Partial<ServiceOptions> = {}): ServiceOptions =>
  ({ store: new MemoryTicketStore(), version: '0.0.0', instance: 'i', port: PORT, ...more })

const host = `127.0.0.1:${PORT}`

t.test('a host application keeps its routes, its answers and its parsers as they were', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addContentTypeParser('text/csv', { parseAs: 'string' }, async (_request: unknown, body: string) => body.split(','))
  await app.register(readyroom, options({ token: 'a-token-for-the-room' }))
  app.get('/own', async () => ({ own: true }))
  app.get('/api/own', async () => ({ own: true }))
  app.post('/own/csv', async request => request.body)
  app.post('/own/text', async request => request.body)
  app.get('/own/number', { schema: { querystring: Type.Object({ n: Type.Integer() }) } }, async request => request.query)
  app.get('/own/failure', async () => { throw Object.assign(new Error('the host says why'), { statusCode: 418 }) })

  const own = await app.inject({ url: '/own', headers: { host: 'anything.example', origin: 'https://other.example' } })
  t.strictSame(own.json(), { own: true })
  t.strictSame(Object.keys(own.headers).sort(), ['connection', 'content-length', 'content-type', 'date'])
  t.strictSame((await app.inject('/api/own')).json(), { own: true })
  t.strictSame((await app.inject({ method: 'POST', url: '/own/csv', headers: { 'content-type': 'text/csv' }, payload: 'a,b' })).json(), ['a', 'b'])
  t.equal((await app.inject({ method: 'POST', url: '/own/text', headers: { 'content-type': 'text/plain' }, payload: 'text' })).body, 'text')
  t.strictSame((await app.inject('/own/number?n=0x5')).json(), { n: 5 }, 'its own validator still converts')
  t.strictSame((await app.inject('/own/failure')).json(), { statusCode: 418, error: 'I\'m a Teapot', message: 'the host says why' })
  t.match((await app.inject('/nope')).json(), { error: 'Not Found', statusCode: 404 })
  t.match((await app.inject({ method: 'DELETE', url: '/own' })).json(), { error: 'Not Found', statusCode: 404 })

  t.equal((await app.inject('/api/tickets')).statusCode, 401, 'and ours stand beside them, guarded')
})

t.test('the host gets one decorator and nothing else', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const before = new Set(Object.keys(app))
  await app.register(readyroom, options({ decorator: 'desk' }))
  await app.ready()
  t.strictSame(Object.keys(app).filter(name => !before.has(name)), ['desk'])
  for (const name of ['ticketStore', 'presence', 'closing', 'readyroom', 'noteWrongCredential']) t.notOk(app.hasDecorator(name), name)
  t.notOk(app.hasRequestDecorator('principal'))
  const { desk } = (app as unknown as { desk: Readyroom }).desk
  const { id } = await desk.ask({ stream: 'host', question: 'q' })
  t.match((await app.inject({ url: `/api/tickets/${id}`, headers: { host } })).json(), { id, stream: 'host', status: 'pending' })
})

t.test('two of them live in one application, each under its prefix', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(readyroom, options({ prefix: '/one', decorator: 'one' }))
  await app.register(readyroom, options({ prefix: '/two', decorator: 'two', token: 'a-token-for-the-second' }))
  const { one, two } = app as unknown as { one: Readyroom, two: Readyroom }
  const first = await one.desk.ask({ stream: 'a', question: 'first' })
  const second = await two.desk.ask({ stream: 'b', question: 'second' })

  const headers = { host }
  const authorization = 'Bearer a-token-for-the-second'
  t.match((await app.inject({ url: '/one/api/tickets', headers })).json().tickets, [first])
  t.equal((await app.inject({ url: '/two/api/tickets', headers })).statusCode, 401)
  t.match((await app.inject({ url: '/two/api/tickets', headers: { authorization } })).json().tickets, [second])
  t.equal((await app.inject({ url: '/one/', headers })).statusCode, 200, 'the page')
  t.equal((await app.inject({ url: '/one', headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/two/healthz', headers })).body, 'ok')
  t.equal((await app.inject({ url: '/one/api/tickets', headers: { host: 'evil.example' } })).statusCode, 421)

  const missing = await app.inject({ url: '/one/nope', headers })
  t.strictSame([missing.statusCode, missing.json().error], [404, 'NOT_FOUND'], 'below its prefix an unknown address is ours')
  t.match((await app.inject('/nope')).json(), { statusCode: 404 }, 'beside it, the host\'s')
  const other = await app.inject({ method: 'DELETE', url: '/one/api/tickets', headers })
  t.strictSame([other.statusCode, other.headers.allow], [405, 'GET, HEAD'])
  t.equal((await app.inject({ method: 'PUT', url: '/one/', headers })).statusCode, 405)
  t.equal((await app.inject({ method: 'PUT', url: '/one', headers })).statusCode, 405)
})

t.test('its store is loaded before and closed after', async t => {
  const calls: string[] = []
  class Noted extends MemoryTicketStore {
    override async load (): Promise<void> { calls.push('load') }
    override async close (): Promise<void> {
      calls.push('close')
      await super.close()
    }
  }
  const app = Fastify()
  await app.register(readyroom, options({ store: new Noted() }))
  await app.ready()
  t.strictSame(calls, ['load'])
  await app.close()
  t.strictSame(calls, ['load', 'close'])
})

t.test('a store that cannot be loaded keeps the application from starting, and says why', async t => {
  class Held extends MemoryTicketStore {
    override async load (): Promise<void> { throw new Error('the folder is held by process 7') }
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await t.rejects(async () => app.register(readyroom, options({ store: new Held() })), /held by process 7/)
})

t.test('the limits of a host do not become ours', async t => {
  const app = Fastify({ bodyLimit: 100 })
  t.teardown(() => app.close())
  await app.register(readyroom, options())
  const { id } = await app.readyroom.desk.ask({ stream: 'a', question: 'q' })
  const answer = 'x'.repeat(16_384)
  const response = await app.inject({ method: 'POST', url: '/api/answer', headers: { host }, payload: { id, answer } })
  t.equal(response.statusCode, 200)
  t.equal(response.json().answer, answer)
})

t.test('with a folder alone it keeps its tickets there, and gives the folder free', async t => {
  const stateDir = t.testdir()
  const [first, second] = [Fastify(), Fastify()]
  t.teardown(() => second.close())
  await first.register(readyroom, { stateDir })
  const { id } = await first.readyroom.desk.ask({ stream: 'host', question: 'q' })
  await t.rejects(async () => {
    const other = Fastify()
    t.teardown(() => other.close())
    await other.register(readyroom, { stateDir })
  }, /folder/i, 'one process, one store')
  await first.close()
  await second.register(readyroom, { stateDir, port: PORT })
  t.match((await second.inject({ url: `/api/tickets/${id}`, headers: { host } })).json(), { id, status: 'pending' })
  t.match((await second.inject({ url: '/healthz', headers: { host } })).headers['x-readyroom'], /^\d+\.\d+\.\d+\S*; instance=\S+$/)
})

t.test('tickets must live somewhere, in one place', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await t.rejects(async () => app.register(readyroom, {}), /^store, stateDir: /)
  const both = Fastify()
  t.teardown(() => both.close())
  await t.rejects(async () => both.register(readyroom, options({ stateDir: t.testdir() })), /^store, stateDir: /)
})

t.test('without a token nothing is answered on an address that other machines reach', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(readyroom, options())
  app.get('/own', async () => 'own')
  // What the socket of a request from the network says of itself.
  app.server.on('connection', (socket: Socket) => { Object.defineProperty(socket, 'localAddress', { value: '192.0.2.7' }) })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const path of ['/api/tickets', '/', '/healthz']) {
    const response = await ask(origin, path)
    t.equal(response.status, 421, path)
    t.match(await response.json(), { error: 'FORBIDDEN_HOST', message: /READYROOM_TOKEN/ })
  }
  t.equal(await (await ask(origin, '/own')).text(), 'own')
})

t.test('a host has only the parts that it wants, and keeps the addresses of the others', async t => {
  const table: Array<[Partial<ServiceOptions>, Record<string, number>]> = [
    [{ page: false }, { '/': 404, '/api/tickets': 200, '/mcp/a': 405 }],
    [{ api: false }, { '/': 404, '/api/tickets': 404, '/mcp/a': 405 }],
    [{ mcp: false }, { '/': 200, '/api/tickets': 200, '/mcp/a': 404 }],
    [{ api: false, mcp: false }, { '/': 404, '/api/tickets': 404, '/mcp/a': 404 }]
  ]
  for (const [parts, statuses] of table) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(readyroom, options({ stream: 'host', ...parts }))
    for (const [url, status] of Object.entries(statuses)) {
      t.equal((await app.inject({ url, headers: { host, origin: `http://${host}` } })).statusCode, status, `${JSON.stringify(parts)} ${url}`)
    }
    const { id } = await app.readyroom.ask({ question: 'q' })
    const waiting = app.readyroom.wait(id)
    await app.readyroom.answer(id, 'yes')
    t.match(await waiting, { id, stream: 'host', answer: 'yes' })
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await t.rejects(async () => app.register(readyroom, options({ page: true, api: false })), /^page: /)
})

t.test('the stream of a host is checked when it registers', async t => {
  for (const stream of ['', ' ', 'a\nb', 'x'.repeat(101), 7 as unknown as string]) {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(async () => app.register(readyroom, options({ stream })), /^stream: /, JSON.stringify(stream))
  }
})

t.test('it stands beside a host\'s own file server, event streams and rate limit', async t => {
  const folder = t.testdir({ 'index.html': 'the host\'s page' })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(fastifyStatic, { root: folder, serve: false })
  await app.register(sse)
  await app.register(rateLimit, { global: true, max: 1_000 })
  await app.register(readyroom, options({ prefix: '/room', stream: 'host' }))
  app.get('/', async (_request, reply) => reply.sendFile('index.html'))
  t.equal((await app.inject('/')).body, 'the host\'s page')
  const page = await app.inject({ url: '/room/', headers: { host } })
  t.equal(page.statusCode, 200)
  t.match(page.body, /<title>/)
  t.match(page.headers['content-security-policy'], /default-src 'none'/)
  t.equal((await app.inject({ url: '/room/', headers: { host, 'accept-encoding': 'br' } })).statusCode, 200)
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const controller = new AbortController()
  const stream = await fetch(`${origin}/room/api/events`, { signal: controller.signal })
  const text = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.match((await text.read()).value, /^: open/)
  await app.readyroom.ask({ question: 'q' })
  t.match((await text.read()).value, /event: ticket/)
  controller.abort()
})

t.test('what a hook of the host refuses stays refused, with its status, in our shape', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async request => {
    const statusCode = Number(request.headers['x-refused'] ?? 0)
    if (statusCode > 0) throw Object.assign(new Error('the host\'s own words'), { statusCode })
  })
  await app.register(readyroom, options({ prefix: '/room' }))
  for (const [status, error] of [[401, 'UNAUTHORIZED'], [403, 'FORBIDDEN_SCOPE'], [429, 'TOO_MANY_REQUESTS']] as const) {
    const response = await app.inject({ url: '/room/api/tickets', headers: { host, 'x-refused': String(status) } })
    t.equal(response.statusCode, status)
    t.match(response.json(), { error, message: /./ })
    t.notMatch(response.body, /own words/)
  }
  t.equal((await app.inject({ url: '/room/api/tickets', headers: { host } })).statusCode, 200)
})
