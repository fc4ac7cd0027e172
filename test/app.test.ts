import { once } from 'node:events'
import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import t from 'tap'
import { pino } from 'pino'
import { buildApp } from '../app'
import { ReadyroomError } from '../lib/errors'
import type { Ticket } from '../schemas/ticket'
import { MemoryTicketStore } from '../lib/memory-store'
import type { Decision } from '../lib/store'
import type { AuditEntry } from '../schemas/event'
import { httpContract } from './contract/http'
import { build, listen, PORT } from './helpers/build'
import { ask, DEADLINE_MS, raw } from './helpers/http'
import { openStream } from './helpers/sse'

httpContract(t, {
  name: 'Node',
  loopback: true,
  seesEmptyOrigin: true,
  async open (t, options) {
    const { origin } = await listen(t, options)
    return { origin, request: (path, init) => ask(origin, path, init) }
  }
})

/** The body of an answer that came as bytes. */
const bodyOf = (answer: string): { error: string, message: string } => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))

t.test('what is no HTTP gets an answer in the same shape', async t => {
  const { port } = await listen(t)
  const table: Array<[string, number, string]> = [
    ['\u0016\u0003\u0001\u0002\u0000hello\r\n\r\n', 400, 'BAD_REQUEST'],
    ['FOO / HTTP/1.1\r\n\r\n', 400, 'BAD_REQUEST'],
    ['GET / HTTP/1.1\r\nhost: a\r\nbroken header\r\n\r\n', 400, 'BAD_REQUEST'],
    [`GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 413, 'TOO_LARGE'],
    [`GET /${'y'.repeat(20_000)} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`, 413, 'TOO_LARGE'],
    [`POST /api/undo HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`, 400, 'BAD_REQUEST'],
    [`POST /api/undo HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: -1\r\n\r\n`, 400, 'BAD_REQUEST']
  ]
  for (const [bytes, status, code] of table) {
    const answer = await raw(port, bytes)
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), bytes.slice(0, 40))
    t.match(answer, /\r\nx-content-type-options: nosniff\r\n/)
    const body = bodyOf(answer)
    t.equal(body.error, code)
    t.type(body.message, 'string')
  }
})

t.test('what a client expects beside 100-continue is passed over, and every guard is asked as ever', async t => {
  const { port, origin } = await listen(t)
  for (const expect of ['', 'x', '200-ok']) {
    t.equal((await ask(origin, '/healthz', { headers: { expect } })).status, 200, expect)
    const answer = await raw(port, `GET /api/tickets HTTP/1.1\r\nhost: evil.example\r\nexpect: ${expect}\r\nconnection: close\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 421 /)
    t.equal(bodyOf(answer).error, 'FORBIDDEN_HOST')
  }
})

t.test('a doubled header is refused: Node would show the first, or both as one', async t => {
  const { port } = await listen(t)
  const host = `127.0.0.1:${port}`
  const end = 'connection: close\r\n\r\n'
  const table: Array<[string, number, string]> = [
    [`GET /healthz HTTP/1.1\r\nhost: ${host}\r\nhost: evil.example\r\n${end}`, 421, 'FORBIDDEN_HOST'],
    [`GET /healthz HTTP/1.1\r\nhost: ${host}\r\nHOST: ${host}\r\n${end}`, 421, 'FORBIDDEN_HOST'],
    [`GET /api/tickets HTTP/1.1\r\nhost: ${host}\r\norigin: http://${host}\r\nOrigin: http://${host}\r\n${end}`, 403, 'FORBIDDEN_ORIGIN'],
    [`GET /api/tickets HTTP/1.1\r\nhost: ${host}\r\nsec-fetch-site: same-origin\r\nsec-fetch-site: cross-site\r\n${end}`, 403, 'FORBIDDEN_ORIGIN'],
    [`POST /mcp/a HTTP/1.1\r\nhost: ${host}\r\norigin: http://${host}\r\nOrigin: https://evil.example\r\ncontent-length: 0\r\n${end}`, 403, 'FORBIDDEN_ORIGIN']
  ]
  for (const [bytes, status, code] of table) {
    const answer = await raw(port, bytes)
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), bytes)
    t.equal(bodyOf(answer).error, code)
  }
})

t.test('a host that is missing, or that stands in the target, is looked at too', async t => {
  const { port } = await listen(t)
  const host = `127.0.0.1:${port}`
  const end = 'connection: close\r\n\r\n'
  for (const bytes of [
    `GET /healthz HTTP/1.1\r\n${end}`, `GET /healthz HTTP/1.0\r\n${end}`, `GET /healthz HTTP/1.1\r\nhost:\r\n${end}`,
    `GET http://evil.example/healthz HTTP/1.1\r\nhost: ${host}\r\n${end}`, `GET HTTP://user@${host}/healthz HTTP/1.1\r\nhost: ${host}\r\n${end}`,
    `GET http://${host}/healthz HTTP/1.1\r\nhost: evil.example\r\n${end}`
  ]) {
    const answer = await raw(port, bytes)
    t.match(answer, /^HTTP\/1\.1 421 /, bytes)
    t.equal(bodyOf(answer).error, 'FORBIDDEN_HOST')
  }
  t.match(await raw(port, `GET http://${host}/healthz HTTP/1.1\r\nhost: ${host}\r\n${end}`), /^HTTP\/1\.1 200 /)
  t.match(await raw(port, `OPTIONS * HTTP/1.1\r\nhost: ${host}\r\n${end}`), /^HTTP\/1\.1 40[045] .*"error":"[A-Z_]+"/s)
})

t.test('every method that can be read is 405 where another is known', async t => {
  const { port } = await listen(t)
  for (const method of ['TRACE', 'PROPFIND', 'LOCK', 'REPORT', 'M-SEARCH', 'SOURCE', 'QUERY']) {
    const answer = await raw(port, `${method} /api/answer HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 405 .*\r\nallow: POST\r\n/s, method)
  }
})

t.test('a body that is too long is refused before it is read, and the connection ends', async t => {
  const { port } = await listen(t)
  const head = `POST /api/undo HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n`
  const announced = await raw(port, `${head}content-length: 1048577\r\n\r\n{`)
  t.match(announced, /^HTTP\/1\.1 413 /)
  t.equal(bodyOf(announced).error, 'TOO_LARGE')
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  const chunked = await raw(port, `${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(17)}`)
  t.match(chunked, /^HTTP\/1\.1 413 /)
})

t.test('a failure that nobody foresaw is INTERNAL: its text is in the log and nowhere else', async t => {
  const lines: string[] = []
  class Broken extends MemoryTicketStore {
    override async list (): Promise<Ticket[]> { throw new Error('secret-detail of the disk') }
    override async history (): Promise<never> { throw new ReadyroomError('STORE_UNAVAILABLE', 'The disk is full: free some space.') }
    override async since (): Promise<never> { throw Object.assign(new Error('secret-detail'), { statusCode: 404, code: 'ENOENT' }) }
  }
  const store = new Broken()
  store.list = async () => []
  const app = await build(t, { store, logger: pino({}, { write: line => { lines.push(line) } }) })
  store.list = Broken.prototype.list
  const headers = { host: `127.0.0.1:${PORT}` }
  const failed = await app.inject({ url: '/api/tickets', headers })
  t.equal(failed.statusCode, 500)
  t.equal(failed.json().error, 'INTERNAL')
  t.notMatch(failed.body, /secret-detail/)
  t.ok(lines.some(line => line.includes('secret-detail of the disk') && line.includes('"route":"/api/tickets"')))
  const full = await app.inject({ url: '/api/history', headers })
  t.equal(full.statusCode, 503)
  t.strictSame(full.json(), { error: 'STORE_UNAVAILABLE', message: 'The disk is full: free some space.' })
  const other = await app.inject({ url: '/api/audit', headers })
  t.notMatch(other.body, /secret-detail/)
})

t.test('neither a token nor a query reaches the log', async t => {
  const lines: string[] = []
  const token = 'a-token-that-must-not-be-logged'
  const app = await build(t, { token, logger: pino({ level: 'trace' }, { write: line => { lines.push(line) } }) })
  for (const url of [`/api/tickets?token=${token}`, `/nope?token=${token}`, `/?token=${token}`, `/mcp/%?token=${token}`, `/api/history?limit=x&token=${token}`]) {
    for (const authorization of ['', `Bearer ${token}`, `Bearer ${token}x`, `Basic ${token}`]) {
      await app.inject({ url, headers: { authorization, host: `127.0.0.1:${PORT}` } })
    }
  }
  t.ok(lines.length > 0, 'something is logged at this level')
  t.strictSame(lines.filter(line => line.includes(token)), [])
})

t.test('an application that cannot be built closes what it opened', async t => {
  const store = new MemoryTicketStore()
  let closed = 0
  const close = store.close.bind(store)
  store.close = async () => { closed++; await close() }
  const options = { store, version: '0.0.0', instance: 'i', port: PORT }
  await t.rejects(buildApp({ ...options, pageRoot: t.testdir({}) }), /index\.html/)
  t.equal(closed, 1)
})

t.test('options that would leave a guard open are refused by name', async t => {
  const options = { store: new MemoryTicketStore(), version: '0.0.0', instance: 'i', port: PORT }
  await t.rejects(buildApp({ ...options, token: '' }), /^token: /)
  await t.rejects(buildApp({ ...options, token: 'two words' }), /^token: /)
  await t.rejects(buildApp({ ...options, allowedOrigins: ['desk.example'] }), /allowedOrigins: "desk\.example" is not an origin/)
  await t.rejects(buildApp({ ...options, allowedOrigins: ['https://desk.example/'] }), /allowedOrigins: /)
  await t.rejects(buildApp({ ...options, originPolicy: 'lax' as 'spec' }), /originPolicy: must be strict or spec; got "lax"/)
})

t.test('close answers who waits, ends the streams and is done within two seconds', async t => {
  const { app, origin } = await listen(t)
  const ticket = await app.readyroom.desk.ask({ stream: 'agent', question: 'Ship it?' })
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(t, origin)))
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait_for_answer', arguments: { id: ticket.id, timeout_seconds: 600 } } }
  const headers = { 'content-type': 'application/json', accept: 'application/json', origin }
  const waits = Array.from({ length: 20 }, () => ask(origin, '/mcp/agent', { method: 'POST', headers, body: JSON.stringify(call) }))
  // Connections that do nothing must not hold it up either: one that never spoke, one in the middle of its headers.
  const idle = [connect(new URL(origin).port as unknown as number, '127.0.0.1'), connect(new URL(origin).port as unknown as number, '127.0.0.1')]
  for (const socket of idle) {
    socket.on('error', () => {})
    await once(socket, 'connect')
  }
  idle[1]!.write('POST /api/answer HTTP/1.1\r\nhost: x\r\n')
  t.teardown(() => { for (const socket of idle) socket.destroy() })
  const deadline = performance.now() + DEADLINE_MS
  while (app.readyroom.desk.waiting < 20 && performance.now() < deadline) await new Promise(resolve => setImmediate(resolve))
  t.equal(app.readyroom.desk.waiting, 20)
  t.equal(app.readyroom.presence.streams, 20)

  const begun = performance.now()
  await app.close()
  const took = performance.now() - begun
  t.ok(took < 2_000, `${Math.round(took)} ms`)
  for (const wait of waits) {
    const { result } = await (await wait).json() as { result: { structuredContent: object } }
    t.match(result.structuredContent, { id: ticket.id, status: 'pending' })
  }
  for (const stream of streams) t.strictSame((await stream.rest()).map(({ comment }) => comment), ['open'])
  t.equal(app.readyroom.presence.streams, 0)
  t.equal(app.readyroom.desk.waiting, 0)
  t.comment(`closed in ${Math.round(took)} ms`)
})

t.test('while it closes, what is under way is answered first and what is new is refused', async t => {
  class Gated extends MemoryTicketStore {
    gate: Promise<void> | undefined
    closed = false
    override async commit (decision: Decision): Promise<AuditEntry> {
      await this.gate
      return super.commit(decision)
    }

    override async close (): Promise<void> {
      this.closed = true
      await super.close()
    }
  }
  const store = new Gated()
  const { app, origin, port } = await listen(t, { store })
  const { id } = await app.readyroom.desk.ask({ stream: 'agent', question: 'Ship it?' })
  const gate = Promise.withResolvers<void>()
  store.gate = gate.promise
  const reached = once(app.server, 'request')
  const answer = ask(origin, '/api/answer', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id, answer: 'yes' }) })
  await reached
  const other = connect(port, '127.0.0.1')
  t.teardown(() => other.destroy())
  other.setEncoding('utf8')
  await once(other, 'connect')

  const stream = await openStream(t, origin)
  const closed = app.close()
  // The streams are ended when the closing begins.
  await stream.rest()
  other.write(`GET /api/tickets HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
  const [refused] = await once(other, 'data', { signal: AbortSignal.timeout(DEADLINE_MS) }) as [string]
  t.match(refused, /^HTTP\/1\.1 503 .*"error":"STORE_UNAVAILABLE","message":"This Ready Room is stopping/s)
  t.equal(store.closed, false)
  gate.resolve()
  const response = await answer
  t.equal(response.status, 200)
  t.match(await response.json(), { id, status: 'answered' })
  await closed
  t.equal(store.closed, true)
})

t.test('an id of any length is judged by its schema, whatever the method before it', async t => {
  const { origin } = await listen(t)
  for (const length of [101, 1_201, 12_000]) {
    const path = `/api/tickets/${'x'.repeat(length)}`
    const response = await ask(origin, path)
    t.equal(response.status, 400)
    t.match(await response.json(), { error: 'BAD_REQUEST', message: /^id may have at most 100 characters/ })
    t.equal((await ask(origin, path, { method: 'DELETE' })).status, 405)
  }
})

t.test('a request that takes too long to arrive is told so; a connection that is gone is told nothing', async t => {
  const { app } = await listen(t)
  const fail = (code: string, gone = false): string => {
    let text = ''
    const socket = new Duplex({ read () {}, write (chunk, _encoding, done) { text += chunk; done() } })
    if (gone) socket.destroy()
    app.server.emit('clientError', Object.assign(new Error('detail'), { code }), Object.assign(socket, { destroySoon: () => socket.destroy() }))
    return text
  }
  const late = fail('ERR_HTTP_REQUEST_TIMEOUT')
  t.match(late, /^HTTP\/1\.1 400 .*connection: close.*"error":"BAD_REQUEST","message":"The request took too long to arrive/s)
  t.match(fail('HPE_CHUNK_EXTENSIONS_OVERFLOW'), /^HTTP\/1\.1 413 /)
  t.equal(fail('ECONNRESET'), '')
  t.equal(fail('HPE_INVALID_METHOD', true), '')
})
