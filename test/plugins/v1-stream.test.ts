import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { RoomEvent } from '../../schemas/room'
import { callerOf } from '../contract/v1'
import { refused } from '../contract/http-target'
import { Clock } from '../helpers/build'
import { ask, DEADLINE_MS } from '../helpers/http'
import { listenWithRooms, type OpenRooms } from '../helpers/rooms'
import { openStream, type Block } from '../helpers/sse'

const eventOf = ({ data }: Block): RoomEvent => JSON.parse(data!) as RoomEvent

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const as = ({ origin }: OpenRooms, token: string) => callerOf({ origin, request: (path, init) => ask(origin, path, init) }, token)

t.test('a stream begins now, and tells each event under its number in the log of the room', async t => {
  const room = await listenWithRooms(t)
  const [ann, bob] = [await room.mint('ann'), await room.mint('bob')]
  await as(room, ann).post('/v1/messages', { body: 'before' })
  const stream = await openStream(t, room.origin, bearer(bob), '/v1/stream')
  t.match(stream.response.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  t.match(await stream.next(), { comment: 'open', id: /^\d+$/ })
  await as(room, ann).post('/v1/messages', { body: 'one\ntwo\r\n\r\ndata: x @bob' })
  const block = await stream.event()
  t.match(block, { event: 'message_posted', id: String(eventOf(block).id) })
  t.match(eventOf(block), { room: 'main', actor: 'ann', body: /one/, concerns: ['bob'] })
})

t.test('a reader that comes back with its cursor misses nothing and gets nothing twice, own events included', async t => {
  const room = await listenWithRooms(t)
  const ann = await room.mint('ann')
  for (let n = 0; n < 60; n++) await as(room, ann).post('/v1/messages', { body: `m${n}` })
  for (const [headers, path] of [[{ 'last-event-id': '0' }, '/v1/stream'], [{}, '/v1/stream?since=0'], [{ 'last-event-id': '0' }, '/v1/stream?since=50']] as const) {
    const stream = await openStream(t, room.origin, { ...bearer(ann), ...headers }, path)
    const ids: number[] = []
    while (ids.length < 61) ids.push(Number((await stream.event()).id))
    t.strictSame(ids, Array.from({ length: 61 }, (_, n) => n + 1))
    stream.close()
  }
})

t.test('a cursor ahead of the log, or none that is a number, is told to begin anew', async t => {
  const room = await listenWithRooms(t)
  const ann = await room.mint('ann')
  await as(room, ann).post('/v1/messages', { body: 'x' })
  for (const cursor of ['99', 'x', '-1']) {
    const stream = await openStream(t, room.origin, { ...bearer(ann), 'last-event-id': cursor }, '/v1/stream')
    t.match(await stream.next(), { comment: 'open', id: '2' })
    t.match(await stream.event(), { event: 'reset', id: '2', data: '{}' })
  }
})

t.test('events that were pruned are passed over, and what comes next is told', async t => {
  const room = await listenWithRooms(t)
  const { rooms } = room
  const ann = await room.mint('ann')
  for (let n = 0; n < 5; n++) await as(room, ann).post('/v1/messages', { body: `m${n}` })
  await rooms.run('setRetention', rooms.system('main'), { days: 1 })
  await rooms.run('sweepRoom', { ...rooms.system('main'), now: Date.now() + 10 * 86_400_000 }, { limit: 100 })
  const stream = await openStream(t, room.origin, { ...bearer(ann), 'last-event-id': '1' }, '/v1/stream')
  await stream.next()
  await as(room, ann).post('/v1/messages', { body: 'later' })
  t.match(eventOf(await stream.event()), { body: 'later' })
})

t.test('a token that is revoked ends its streams at once, and nobody else\'s', async t => {
  const room = await listenWithRooms(t)
  const [ann, bob] = [await room.mint('ann'), await room.mint('bob')]
  const streams = [await openStream(t, room.origin, bearer(ann), '/v1/stream'), await openStream(t, room.origin, bearer(bob), '/v1/stream')] as const
  for (const stream of streams) await stream.next()
  await room.admin.run('revoke', { agent: 'ann' })
  t.strictSame((await streams[0].rest()).filter(({ event }) => event === 'message_posted'), [])
  await as(room, bob).post('/v1/messages', { body: 'still here' })
  t.equal(eventOf(await streams[1].event()).actor, 'bob')
})

t.test('a token whose time is over gets no further event', async t => {
  const clock = new Clock()
  const room = await listenWithRooms(t, { clock })
  const bob = await room.mint('bob')
  const ann = await room.mint('ann', { expires_at: new Date(clock.ms + 60_000).toISOString() })
  const stream = await openStream(t, room.origin, bearer(ann), '/v1/stream')
  await stream.next()
  await as(room, bob).post('/v1/messages', { body: 'for both' })
  clock.by(60_000)
  await as(room, bob).post('/v1/messages', { body: 'for others' })
  const told = (await stream.rest()).map(({ data }) => data ?? '').join()
  t.match(told, /for both/)
  t.notMatch(told, /for others/)
})

t.test('a room that is deleted ends its streams with a last event that says so; another room\'s goes on', async t => {
  const room = await listenWithRooms(t)
  const ann = await room.mint('ann', { also: ['lab'] })
  const main = await openStream(t, room.origin, bearer(ann), '/v1/stream')
  const lab = await openStream(t, room.origin, bearer(ann), '/v1/stream?room=lab')
  await main.next()
  await lab.next()
  await room.admin.run('delete-room', { room: 'lab', confirm: 'lab' })
  t.match((await lab.rest()).at(-1), { event: 'room_deleted', data: '{"room":"lab"}' })
  await as(room, ann).post('/v1/messages', { body: 'on' })
  t.ok((await main.event()).data)
  await refused(t, ask(room.origin, '/v1/stream?room=lab', { headers: bearer(ann) }), 404, 'ROOM_NOT_FOUND')
})

t.test('a reader that takes nothing is dropped once its socket is full, and costs the others nothing', async t => {
  const room = await listenWithRooms(t, { events: { stallMs: 50 } })
  const ann = await room.mint('ann')
  const { host, port } = new URL(room.origin)
  const socket = connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET /v1/stream HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${ann}\r\n\r\n`)
  await once(socket, 'readable')
  const body = 'x'.repeat(16_000)
  const deadline = performance.now() + 3 * DEADLINE_MS
  let posted = 0
  while (room.rooms.feed.isWatched) {
    if (performance.now() > deadline) throw new Error('The reader was not dropped in time')
    await room.rooms.run('postMessage', { ...room.rooms.system('main'), actor: { name: 'ann', kind: 'agent', admin: false } }, { body })
    posted++
  }
  t.ok(posted > 10, 'it was given what its socket holds')
  t.match(await as(room, ann).post('/v1/messages', { body: 'x' }), { id: posted + 1 })
})

t.test('closing ends every stream', async t => {
  const room = await listenWithRooms(t)
  const stream = await openStream(t, room.origin, bearer(await room.mint('ann')), '/v1/stream')
  await stream.next()
  const closed = room.app.close()
  await stream.rest()
  await closed
})

t.test('a silent stream says that it is alive', async t => {
  const room = await listenWithRooms(t, { events: { heartbeatMs: 20 } })
  const stream = await openStream(t, room.origin, bearer(await room.mint('ann')), '/v1/stream')
  await stream.next()
  t.ok('comment' in await stream.next())
})

t.test('who holds a stream open is there, and is not at work for it', async t => {
  const room = await listenWithRooms(t)
  const [ann, bob] = [await room.mint('ann'), await room.mint('bob')]
  const stream = await openStream(t, room.origin, bearer(bob), '/v1/stream')
  await stream.next()
  const { agents } = await as(room, ann).get<{ agents: object[] }>('/v1/agents')
  t.match(agents, [{ name: 'ann', status: 'working' }, { name: 'bob', status: 'idle' }])
})

t.test('a stream whose token comes to its end is ended soon after, though nothing happens; so is that of the tickets', async t => {
  const clock = new Clock()
  const room = await listenWithRooms(t, { clock, events: { heartbeatMs: 10 } })
  const until = new Date(clock.now() + 60_000).toISOString()
  const ann = await room.mint('ann', { expires_at: until })
  const lea = await room.mint('lea', { role: 'approver', expires_at: until })
  const bob = await room.mint('bob')
  const over = [await openStream(t, room.origin, bearer(ann), '/v1/stream'), await openStream(t, room.origin, bearer(lea), '/api/events')]
  const other = await openStream(t, room.origin, bearer(bob), '/v1/stream')
  clock.by(60_000)
  for (const stream of over) await stream.rest()
  await as(room, bob).post('/v1/messages', { body: 'still here' })
  t.match(await other.event(), { event: 'agent_joined' })
})
