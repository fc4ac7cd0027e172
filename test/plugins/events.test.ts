import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { OWNER } from '../../lib/principal'
import type { Ticket } from '../../schemas/ticket'
import { Clock, listen } from '../helpers/build'
import { DEADLINE_MS } from '../helpers/http'
import { openStream, type Block } from '../helpers/sse'

const ticketOf = (block: Block): Ticket => JSON.parse(block.data!) as Ticket

/** Resolves once `holds` does. @throws Error past the deadline. */
async function until (holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`Not in time: ${what}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** A reader that has asked and takes nothing until it is told to. */
async function stalled (t: Test, origin: string): Promise<Socket> {
  const { host, port } = new URL(origin)
  const socket = connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET /api/events HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  return socket
}

t.test('a stream begins at once, with the cursor to come back with', async t => {
  const { app, origin } = await listen(t)
  const stream = await openStream(t, origin)
  t.equal(stream.response.statusCode, 200)
  t.match(stream.response.headers, {
    'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer'
  })
  t.strictSame(await stream.next(), { comment: 'open', id: '0' })
  await app.readyroom.desk.ask({ stream: 'a', question: 'q' })
  const later = await openStream(t, origin)
  t.strictSame(await later.next(), { comment: 'open', id: '1' }, 'what was before is not told again')
})

t.test('every change is told: the ticket as it then is, under its place in the audit log', async t => {
  const clock = new Clock()
  const { app, origin } = await listen(t, { clock })
  const { desk } = app.readyroom
  const stream = await openStream(t, origin)
  await stream.next()

  const asked = await desk.ask({ stream: 'a', question: 'one\ntwo\r\nthree', context: 'id: 9\n\ndata: x', default_answer: 'd', timeout_seconds: 60 })
  const changes: Ticket[] = [asked, await desk.answer(asked.id, 'yes', OWNER), await desk.undo(asked.id, OWNER)]
  clock.by(600_000)
  changes.push((await desk.list()).tickets[0]!)
  const other = await desk.ask({ stream: 'b', question: 'q' })
  changes.push(other, await desk.cancel(other.id))

  t.strictSame(changes.map(({ status }) => status), ['pending', 'answered', 'pending', 'expired', 'pending', 'cancelled'])
  for (const [index, ticket] of changes.entries()) {
    const block = await stream.next()
    t.equal(block.event, 'ticket')
    t.equal(block.id, String(index + 1))
    t.strictSame(ticketOf(block), ticket)
  }
})

t.test('a reader that comes back with its cursor misses nothing and hears nothing twice', async t => {
  const { app, origin } = await listen(t)
  const { desk } = app.readyroom
  for (let i = 0; i < 50; i++) await desk.ask({ stream: 'a', question: `q${i}` })
  // Commits go on while the replay does.
  const more = (async () => {
    for (let i = 50; i < 150; i++) await desk.ask({ stream: 'a', question: `q${i}` })
  })()
  const stream = await openStream(t, origin, { 'last-event-id': '10' })
  t.strictSame(await stream.next(), { comment: 'open', id: '10' })
  for (let seq = 11; seq <= 150; seq++) {
    const block = await stream.event()
    t.equal(block.id, String(seq))
    t.equal(ticketOf(block).question, `q${seq - 1}`)
  }
  await more
})

t.test('a cursor that is 1,000 behind is replayed; one more, one ahead, or none at all is a reset', async t => {
  const { app, origin } = await listen(t)
  const { desk } = app.readyroom
  for (let i = 0; i < 1_001; i++) await desk.ask({ stream: `s${i % 9}`, question: 'q' })
  const replayed = await openStream(t, origin, { 'last-event-id': '1' })
  for (let seq = 2; seq <= 1_001; seq++) t.equal((await replayed.event()).id, String(seq))

  for (const cursor of ['0', '1002', '-1', 'x', '1.5', '1e3', '5, 6', '99999999999999999999', '0x5']) {
    const stream = await openStream(t, origin, { 'last-event-id': cursor })
    t.strictSame(await stream.next(), { comment: 'open', id: '1001' })
    t.strictSame(await stream.next(), { id: '1001', event: 'reset', data: '{}' }, cursor)
    stream.close()
  }
  const stream = await openStream(t, origin, { 'last-event-id': 'x' })
  t.equal((await stream.event()).event, 'reset')
  await desk.ask({ stream: 'late', question: 'q' })
  t.equal((await stream.event()).id, '1002', 'after a reset it goes on from now')
})

t.test('a cursor of 0 on a log that is young tells it from the start', async t => {
  const { app, origin } = await listen(t)
  await app.readyroom.desk.ask({ stream: 'a', question: 'q' })
  const stream = await openStream(t, origin, { 'last-event-id': '0' })
  t.equal((await stream.event()).id, '1')
})

t.test('a silent stream says now and then that it is alive', async t => {
  const { origin } = await listen(t, { events: { heartbeatMs: 10 } })
  const stream = await openStream(t, origin)
  await stream.next()
  t.strictSame([await stream.next(), await stream.next()], [{ comment: 'heartbeat' }, { comment: 'heartbeat' }])
})

t.test('whatever a client says it accepts, the stream is what there is', async t => {
  const { origin } = await listen(t)
  for (const accept of ['text/event-stream', '*/*', 'application/json', 'text/html', 'text/event-stream;q=0']) {
    const stream = await openStream(t, origin, { accept })
    t.equal(stream.response.statusCode, 200, accept)
    t.strictSame(await stream.next(), { comment: 'open', id: '0' })
  }
})

t.test('the stream is guarded like every route of the API', async t => {
  const { origin } = await listen(t, { token: 'a-token-of-some-length-here' })
  t.equal((await openStream(t, origin)).response.statusCode, 401)
  t.equal((await openStream(t, origin, { 'sec-fetch-site': 'cross-site' })).response.statusCode, 403)
  t.equal((await openStream(t, origin, { authorization: 'Bearer a-token-of-some-length-here' })).response.statusCode, 200)
})

t.test('who reads is counted as long as they are there', async t => {
  const { app, origin } = await listen(t)
  const { presence } = app.readyroom
  t.equal(presence.isPageOpen(), false)
  const [one, two] = [await openStream(t, origin), await openStream(t, origin)]
  t.equal(presence.streams, 2)
  t.equal(presence.isPageOpen(), true)
  one.close()
  await until(() => presence.streams === 1, 'the first reader has gone')
  two.close()
  await until(() => presence.streams === 0, 'both readers have gone')
  t.equal(presence.isPageOpen(), false)
  await app.readyroom.desk.ask({ stream: 'a', question: 'q' })
  t.equal(presence.streams, 0, 'an event after that meets nobody')
})

t.test('a reader that leaves while its token is checked is not counted for ever', async t => {
  const token = 'a-token-of-some-length-here'
  const { app, origin } = await listen(t, { token })
  const { port } = new URL(origin)
  let answered = 0
  app.server.on('request', (_request, response) => { response.on('close', () => { answered++ }) })
  for (let i = 0; i < 200; i++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET /api/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`, () => socket.resetAndDestroy())
  }
  await until(() => answered > 0 && app.readyroom.presence.streams === 0, 'nobody is left')
  const last = await openStream(t, origin, { authorization: `Bearer ${token}` })
  await last.next()
  t.equal(app.readyroom.presence.streams, 1)
})

const LARGE = '\u{1F600}'.repeat(65_536)

t.test('a reader that pauses is not buffered for, is not dropped, and then gets the rest in order', async t => {
  const { app, origin } = await listen(t)
  const { desk, presence } = app.readyroom
  const sockets: Socket[] = []
  app.server.on('connection', socket => sockets.push(socket))
  const socket = await stalled(t, origin)
  await until(() => presence.streams === 1, 'the reader is there')
  let held = 0
  for (let i = 0; i < 60; i++) {
    await desk.ask({ stream: 'a', question: `q${i}`, context: LARGE })
    held = Math.max(held, sockets[0]!.writableLength)
  }
  socket.setEncoding('utf8')
  let text = ''
  for await (const chunk of socket) {
    text += chunk as string
    held = Math.max(held, sockets[0]!.writableLength)
    if (text.includes('"question":"q59"')) break
  }
  t.ok(held < 1_048_576, `of 15 MiB at most ${held} bytes were held for it`)
  t.strictSame([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)), Array.from({ length: 61 }, (_, i) => i))
})

t.test('a reader that takes nothing is dropped; the others do not notice', async t => {
  const { app, origin } = await listen(t, { events: { stallMs: 1_000 } })
  const { desk, presence } = app.readyroom
  const reader = await openStream(t, origin)
  await stalled(t, origin)
  await until(() => presence.streams === 2, 'both are there')
  for (let seq = 1; seq <= 60; seq++) {
    await desk.ask({ stream: 'a', question: `q${seq}`, context: LARGE })
    t.equal((await reader.event()).id, String(seq))
  }
  await until(() => presence.streams === 1, 'the one that takes nothing has gone')
  await desk.ask({ stream: 'a', question: 'last' })
  t.equal((await reader.event()).id, '61')
})

t.test('a store that cannot be read ends the stream, for the reader to come back', async t => {
  const { app, origin } = await listen(t)
  const { desk } = app.readyroom
  await desk.ask({ stream: 'a', question: 'q' })
  desk.since = () => Promise.reject(new Error('the disk is gone'))
  const stream = await openStream(t, origin, { 'last-event-id': '0' })
  t.strictSame(await stream.rest(), [{ comment: 'open', id: '0' }])
  await until(() => app.readyroom.presence.streams === 0, 'the reader has gone')
})

t.test('closing ends a stream that is stalled, too', async t => {
  const { app, origin } = await listen(t)
  const { desk, presence } = app.readyroom
  const sockets: Socket[] = []
  app.server.on('connection', socket => sockets.push(socket))
  await stalled(t, origin)
  await until(() => presence.streams === 1, 'the reader is there')
  for (let i = 0; i < 60; i++) {
    await desk.ask({ stream: 'a', question: `q${i}`, context: LARGE })
    await new Promise(resolve => setImmediate(resolve))
  }
  t.ok(sockets[0]!.writableLength > 0, 'what the kernel did not take is still here')
  const begun = performance.now()
  await app.close()
  const took = performance.now() - begun
  t.ok(took < 800, `${Math.round(took)} ms: at once, not at the end of the grace`)
  t.equal(presence.streams, 0)
})
