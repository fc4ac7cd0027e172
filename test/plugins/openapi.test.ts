import swagger from '@fastify/swagger'
import { Ajv2020 } from 'ajv/dist/2020.js'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { MemoryTicketStore } from '../../lib/memory-store'
import readyroom from '../../plugins/readyroom'
import { PORT } from '../helpers/build'
import { ask, type Ask } from '../helpers/http'
import { listenWithRooms } from '../helpers/rooms'

interface Media { schema?: object }
interface Parameter { in: string, name: string, required?: boolean }
interface Operation {
  responses: Record<string, { content?: Record<string, Media> }>
  parameters?: Parameter[]
  security: object[]
  requestBody?: object
}
interface Document { info: { version: string }, servers: Array<{ url: string }>, paths: Record<string, Record<string, Operation>> }

const TOKEN = 'a-token-that-guards-the-description'
const JSON_TYPE = { 'content-type': 'application/json' }

/** Each address of the room, with what is sent there: they are asked in this order. */
const IN_THE_ROOM: Array<[path: string, body?: object]> = [
  ['/v1/messages', { body: 'hello', require_ack: true }],
  ['/v1/messages/ack', { message_id: 1 }],
  ['/v1/messages'],
  ['/v1/whats-new', {}],
  ['/v1/events?kind=message_posted'],
  ['/v1/search?query=hello'],
  ['/v1/tasks', { title: 'one', body: 'whole' }],
  ['/v1/tasks?status=ready'],
  ['/v1/tasks/claim', { task_id: 1, lease_seconds: 60 }],
  ['/v1/tasks/update', { task_id: 1, note: 'half way' }],
  ['/v1/tasks/note', { task_id: 1, body: 'a note' }],
  ['/v1/task?task_id=1'],
  ['/v1/tasks/release', { task_id: 1 }],
  ['/v1/files', { name: 'a.txt', content_base64: 'aGk=' }],
  ['/v1/files'],
  ['/v1/file?file_id=1'],
  ['/v1/files/{id}'],
  ['/v1/files/delete', { file_id: 1 }],
  ['/v1/room', { description: 'Where we work' }],
  ['/v1/room'],
  ['/v1/retention', { days: 30 }],
  ['/v1/wait?timeout_s=0'],
  ['/v1/agents'],
  ['/v1/rooms'],
  ['/v1/client'],
  ['/v1/hook'],
  ['/v1/watch'],
  ['/v1/unread?limit=1'],
  ['/v1/cursor', { through: 1 }],
  ['/v1/export?format=md'],
  ['/v1/attention', { kind: 'wake' }],
  ['/v1/attention?days=1'],
  ['/v1/room/delete', { room: 'local', confirm: 'local' }]
]

const ADMINISTERED: Array<[name: string, body: object]> = [
  ['init', {}],
  ['add-room', { room: 'lab' }],
  ['add-token', { agent: 'ann', room: 'lab' }],
  ['list', { revoked: true }],
  ['alias', { room: 'lab', alias: 'anna', agent: 'ann' }],
  ['retention', { room: 'lab', days: 7 }],
  ['export', { room: 'lab' }],
  ['revoke', { agent: 'ann' }],
  ['purge', {}],
  ['delete-room', { room: 'lab', confirm: 'lab' }]
]

/** A Ready Room, its own description of itself, and how to hold an answer against that. */
async function open (t: Test, { token }: { token?: string } = {}) {
  const { app, origin } = await listenWithRooms(t, {
    desk: { adminApi: true }, edge: { adminApi: true }, metrics: true, ...(token !== undefined && { token })
  })
  const credential = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const document = await (await ask(origin, '/api/openapi.json', { headers: credential })).json() as Document
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'doc:/', ...document }, 'doc:/')
  const answered = new Set<string>()

  /** Asks, and fails where the status, the kind or the shape of the answer is not what the document says. */
  async function holds (operation: string, path: string, request: Ask = {}): Promise<Response> {
    const [method, route] = operation.split(' ') as [string, string]
    const { responses } = document.paths[route]![method.toLowerCase()]!
    const response = await ask(origin, path, { method, ...request })
    const status = String(response.status)
    const key = [status, `${status[0]}XX`].find(key => key in responses)
    if (key === undefined) return t.fail(`${operation} answers ${status}, which is not described`) as never
    answered.add(`${operation} ${key}`)
    const type = (response.headers.get('content-type') ?? '').split(';', 1)[0]!
    const media = responses[key]!.content
    if (media === undefined) {
      t.equal(await response.clone().text(), '', `${operation} ${status} has no body`)
      return response
    }
    t.ok(type in media, `${operation} ${status} is ${type}`)
    if (type === 'application/json') {
      const pointer = ['paths', route, method.toLowerCase(), 'responses', key, 'content', type, 'schema']
        .map(part => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
      const validate = ajv.compile({ $ref: `doc:/#/${pointer}` })
      t.ok(validate(await response.clone().json()), `${operation} ${status} ${JSON.stringify(validate.errors)}`)
    }
    return response
  }
  return { app, origin, document, credential, holds, answered }
}

t.test('every address answers as its description says, with what was asked for and with a refusal', async t => {
  const { app, origin, document, holds, answered } = await open(t)
  const { desk } = app.readyroom
  const settled = await desk.ask({ stream: 'a', question: 'q', options: ['yes', 'no'], default_answer: 'no', context: 'x'.repeat(5_000) })
  const { id } = await desk.ask({ stream: 'a', question: 'q' })
  const send = (body: unknown): Ask => ({ headers: JSON_TYPE, body: JSON.stringify(body) })
  const call = (method: string, params: object = {}): Ask =>
    ({ headers: { ...JSON_TYPE, origin, accept: 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })

  await holds('POST /api/answer', '/api/answer', send({ id: settled.id, answer: 'yes', answered_by: 'Lea' }))
  t.equal((await holds('POST /api/answer', '/api/answer', send({ id: settled.id, answer: 'no' }))).status, 409)
  t.equal((await holds('POST /api/answer', '/api/answer', send({ id }))).status, 400)
  t.equal((await holds('POST /api/answer', '/api/answer', { body: 'text', headers: { 'content-type': 'text/plain' } })).status, 415)
  await holds('GET /api/tickets', '/api/tickets')
  t.equal((await holds('GET /api/tickets', '/api/tickets?x=1')).status, 400)
  await holds('GET /api/tickets/{id}', `/api/tickets/${settled.id}`)
  t.equal((await holds('GET /api/tickets/{id}', '/api/tickets/none')).status, 404)
  await holds('GET /api/history', '/api/history?limit=1')
  await holds('GET /api/history', '/api/history?limit=0')
  await holds('GET /api/audit', '/api/audit?after=0&limit=2')
  await holds('GET /api/audit', '/api/audit?after=x')
  await holds('POST /api/undo', '/api/undo', send({ id: settled.id }))
  t.equal((await holds('POST /api/undo', '/api/undo', send({ id }))).status, 409)
  await holds('GET /api/openapi.json', '/api/openapi.json')
  await holds('GET /api/openapi.json', '/api/openapi.json?x=1')
  await holds('GET /healthz', '/healthz')
  await holds('GET /', '/')
  for (const path of ['/ui', '/admin'] as const) {
    await holds(`GET ${path}`, path)
    t.equal((await holds(`GET ${path}`, path, { headers: { via: '1.1 somebody' } })).status, 404)
  }
  await holds('GET /metrics', '/metrics')
  await holds('GET /metrics', '/metrics', { headers: { origin: 'https://evil.example' } })
  for (const host of [{ host: 'evil.example' }]) {
    for (const path of ['/', '/healthz'] as const) t.equal((await holds(`GET ${path}`, path, { headers: host })).status, 421)
  }
  for (const [operation, path] of [['POST /mcp', '/mcp'], ['POST /mcp/{stream}', '/mcp/agent']] as const) {
    await holds(operation, path, call('tools/list'))
    await holds(operation, path, call('tools/call', { name: 'ask_human', arguments: { question: 'q', stream: 'a' } }))
    await holds(operation, path, call('no/such'))
    t.equal((await holds(operation, path, { headers: { ...JSON_TYPE, origin }, body: '{' })).status, 400)
    t.equal((await holds(operation, path, { headers: JSON_TYPE, body: '{}' })).status, 403)
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
    t.equal((await holds(operation, path, { headers: { ...JSON_TYPE, origin }, body: JSON.stringify(notification) })).status, 202)
  }

  for (const [path, body] of IN_THE_ROOM) {
    const [route, query = ''] = path.split('?')
    const operation = `${body === undefined ? 'GET' : 'POST'} ${route}`
    const address = path.replace('{id}', '1')
    t.equal((await holds(operation, address, body && send(body))).status, 200, path)
    t.equal((await holds(operation, `${address}${query === '' ? '?' : '&'}x=1`, body && send(body))).status, 400, path)
  }

  const guarded = await open(t, { token: TOKEN })
  const headers = { ...JSON_TYPE, ...guarded.credential }
  for (const [name, body] of ADMINISTERED) {
    t.equal((await guarded.holds(`POST /v1/admin/${name}`, `/v1/admin/${name}`, { headers, body: JSON.stringify(body) })).status, 200, name)
    t.equal((await guarded.holds(`POST /v1/admin/${name}`, `/v1/admin/${name}`, { headers: JSON_TYPE, body: JSON.stringify(body) })).status, 401, name)
  }
  const bea = await (await guarded.holds('POST /v1/admin/add-token', '/v1/admin/add-token', { headers, body: JSON.stringify({ agent: 'bea', room: 'main' }) })).json()
  for (const path of ['/v1/admin/posture', `/v1/admin/setup-text?id=${(bea as { view: { id: number } }).view.id}`]) {
    const operation = `GET ${path.split('?')[0]}`
    t.equal((await guarded.holds(operation, path, { headers: guarded.credential })).status, 200, path)
    t.equal((await guarded.holds(operation, path)).status, 401, path)
  }
  for (const seen of guarded.answered) answered.add(seen)

  for (const path of ['/api/events', '/v1/stream']) {
    const controller = new AbortController()
    const stream = await fetch(origin + path, { signal: controller.signal })
    t.equal(stream.headers.get('content-type')?.split(';', 1)[0], Object.keys(document.paths[path]!['get']!.responses['200']!.content!)[0])
    controller.abort()
    answered.add(`GET ${path} 200`)
    t.equal((await holds(`GET ${path}`, `${path}?x=1`)).status, 400)
  }

  // What a sound Node does not do here: fail inside, and be a Worker, which has no stream to give.
  const elsewhere = (status: string): boolean => status === '5XX' || status === '501'
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      for (const status of Object.keys(responses).filter(status => !elsewhere(status))) {
        t.ok(answered.has(`${method.toUpperCase()} ${path} ${status}`), `${method} ${path} ${status} was seen`)
      }
    }
  }
})

t.test('it is guarded like the API, says what is open without a token, and names the release', async t => {
  const { origin, document, holds, credential } = await open(t, { token: TOKEN })
  t.equal((await ask(origin, '/api/openapi.json')).status, 401)
  t.equal(document.info.version, '0.0.0-test')
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { security }] of Object.entries(operations)) {
      const operation = `${method.toUpperCase()} ${path}`
      const { status } = await holds(operation, path.replace(/\{\w+\}/, 'some'), method === 'post' ? { headers: { ...JSON_TYPE, origin }, body: '{}' } : {})
      t.equal(status, security.length === 0 ? 200 : 401, operation)
    }
  }
  t.equal((await holds('GET /metrics', '/metrics', { headers: credential })).status, 200)
})

t.test('its server is where it comes from, under any prefix', async t => {
  const { document } = await open(t)
  t.equal(document.servers.length, 1)
  const { url } = document.servers[0]!
  t.equal(new URL(url, 'https://desk.example/api/openapi.json').href, 'https://desk.example/')
  t.equal(new URL(url, 'https://desk.example/ready/api/openapi.json').href, 'https://desk.example/ready/')
})

t.test('a host application that describes itself sees our routes, and none of our refusals', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'host', version: '1' } } })
  await app.register(readyroom, { store: new MemoryTicketStore(), port: PORT, prefix: '/room' })
  await app.ready()
  const { paths } = app.swagger() as { paths: Record<string, object> }
  t.strictSame(Object.keys(paths['/room/api/tickets']!), ['get'])
  t.strictSame(Object.keys(paths['/room/api/answer']!), ['post'])
})

t.test('what changes a room says that it takes an Idempotency-Key, and changes it once', async t => {
  const { document, holds } = await open(t)
  const headers = { ...JSON_TYPE, 'idempotency-key': 'once' }
  const takesKey = ([path, operations]: [string, Record<string, Operation>]): string[] => Object.entries(operations)
    .filter(([, { parameters = [] }]) => parameters.some(({ in: where, name, required }) => where === 'header' && name === 'idempotency-key' && required !== true))
    .map(([method]) => `${method} ${path}`)
  const keyed = Object.entries(document.paths).flatMap(takesKey)
  t.strictSame(keyed.filter(operation => operation.startsWith('get ')), [])
  for (const path of ['/mcp', '/v1/messages', '/v1/tasks', '/v1/tasks/claim', '/v1/files']) t.ok(keyed.includes(`post ${path}`), path)
  t.notOk(keyed.includes('post /api/answer'))
  const sent = () => holds('POST /v1/messages', '/v1/messages', { headers, body: JSON.stringify({ body: 'hello' }) })
  t.strictSame(await (await sent()).json(), await (await sent()).json())
})
