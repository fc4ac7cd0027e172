import t, { type Test } from 'tap'
import { bundleForWorkerd } from '../../helpers/in-workerd'
import { eventually } from '../../helpers/process'
import { startWorker } from '../../helpers/worker'
import type { SettingsEnv } from '../../../worker/settings'
import type { Step } from '../../helpers/sweeping-objects'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR

const modules = await bundleForWorkerd('test/helpers/sweeping-objects.ts', ['test/helpers/looking-room.ts', 'worker/rooms/registry-object.ts'])

interface Told { kind: string, actor: string, body: string | null, at: string, concerns: string | null }

const start = (t: Pick<Test, 'teardown'>, env: SettingsEnv = {}) =>
  startWorker(t, { modules, className: 'HouseObject', rooms: true, flags: ['nodejs_compat'], env })
const shared = await start(t)
let rooms = 0

/** A room in workerd, with alarms that go off by the runtime's own clock: what was done in it was done at times of the test's. */
async function open (t: Test, env?: SettingsEnv) {
  const { origin, runtime } = env === undefined ? shared : await start(t, env)
  const room = `room-${++rooms}`
  const object = { name: JSON.stringify(['queue', room]) }
  async function send<T> (...steps: Step[]): Promise<T> {
    const response = await fetch(origin, { method: 'POST', body: JSON.stringify({ room, steps }) })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return response.json() as Promise<T>
  }
  const look = (query: string) => send<{ alarm: number | null, rows: Array<Record<string, unknown>> }>({ look: query })
  const rows = async <T>(query: string): Promise<T[]> => (await look(query)).rows as T[]
  await send({ name: 'addRoom', input: {}, now: Date.now() })
  return {
    room,
    /** Whatever a test does to its tables, past the object. */
    async exec (query: string): Promise<void> {
      const storage = await runtime.unsafeGetDurableObjectStorage('readyroom', 'RoomObject', object)
      await storage.exec(query)
    },
    sleep: () => runtime.unsafeEvictDurableObject('readyroom', 'RoomObject', object),
    send,
    rows,
    alarm: async (): Promise<number | null> => (await look('SELECT 1')).alarm,
    told: (kind: string) => rows<Told>(`SELECT kind, actor, body, at, concerns FROM events WHERE kind = '${kind}' ORDER BY id`)
  }
}

t.test('a lease ends at its time though nobody asks, and the log says who lost it; then nothing is left to be woken for but silence', async t => {
  const { send, told, rows, alarm } = await open(t)
  const now = Date.now()
  const ends = now + 1_500
  await send(
    { name: 'createTask', input: { title: 'one' }, who: 'ann', now },
    { name: 'claimTask', input: { task_id: 1, lease_seconds: 30 }, who: 'ann', now: ends - 30 * SECOND }
  )
  t.equal(await alarm(), ends)
  const [lapsed] = await eventually(async () => (await told('task_lapsed')).length > 0 ? told('task_lapsed') : undefined, 'the lease to end')
  t.match(lapsed, { actor: 'system', body: /ann/, concerns: '["ann"]' })
  t.ok(Date.parse(lapsed!.at) >= ends)
  t.match(await rows('SELECT status, owner FROM tasks'), [{ status: 'pending', owner: null }])
  t.ok((await alarm())! > now + DAY, 'when ann has been silent for a day')
})

t.test('a lease that is renewed is looked at when it would have ended, and ends when nobody renews it', async t => {
  const { send, told, alarm } = await open(t)
  const now = Date.now()
  await send(
    { name: 'createTask', input: { title: 'one' }, who: 'ann', now },
    { name: 'claimTask', input: { task_id: 1, lease_seconds: 30 }, who: 'ann', now: now - 29 * SECOND },
    { name: 'whatsNew', input: {}, who: 'ann', now: now - 28 * SECOND }
  )
  const until = now + 2 * SECOND
  await eventually(async () => await alarm() === until || undefined, 'the alarm to be set anew')
  t.strictSame(await told('task_lapsed'), [])
  await eventually(async () => (await told('task_lapsed')).length === 1 || undefined, 'the lease to end')
  t.ok(Date.now() >= until)
})

t.test('a lease of a room that comes from a release without alarms has one after the next call', async t => {
  const { send, exec, alarm, sleep } = await open(t)
  const now = Date.now()
  await send({ name: 'createTask', input: { title: 'one' }, now })
  t.equal(await alarm(), null)
  await exec(`UPDATE tasks SET status = 'in_progress', owner = 'ann', lease_seconds = 60, lease_until = '${new Date(now + HOUR).toISOString()}'`)
  await sleep()
  await send({ name: 'awaitedTickets', input: {}, now }, { name: 'getTask', input: { task_id: 1 }, who: 'bob', now })
  t.equal(await alarm(), now + HOUR)
})

t.test('an expired file is taken away with its event, and its room in the quota with it', async t => {
  const { send, told, rows, alarm } = await open(t)
  const now = Date.now()
  const put = { content_base64: 'aGk=', max_bytes: 10 }
  await send(
    { name: 'putFile', input: { ...put, name: 'kept' }, who: 'ann', now },
    { name: 'putFile', input: { ...put, name: 'scratch', expires_in_hours: 1 }, who: 'ann', now: now - HOUR + SECOND }
  )
  t.equal(await alarm(), now + SECOND)
  await eventually(async () => (await told('file_expired')).length === 1 || undefined, 'the file to go')
  t.match(await told('file_expired'), [{ actor: 'system', body: 'scratch' }])
  t.strictSame(await rows('SELECT name FROM files'), [{ name: 'kept' }])
  t.strictSame(await rows('SELECT file_bytes FROM rooms'), [{ file_bytes: 2 }])
})

t.test('retention takes chat, events and files together, more than one step of them, and no task', async t => {
  const { send, rows } = await open(t)
  const now = Date.now()
  const old = now - 3 * DAY
  await send(
    ...Array.from({ length: 1_100 }, (_, n): Step => ({ name: 'postMessage', input: { body: `old ${n}` }, who: 'ann', now: old })),
    { name: 'putFile', input: { name: 'old', content_base64: 'aGk=', max_bytes: 10 }, who: 'ann', now: old },
    { name: 'createTask', input: { title: 'stays' }, who: 'ann', now: old },
    { name: 'postMessage', input: { body: 'new' }, who: 'ann', now }
  )
  const counts = () => rows<Record<string, number>>('SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM files) AS files, (SELECT count(*) FROM tasks) AS tasks')
  t.match(await counts(), [{ messages: 1_101, files: 1, tasks: 1 }], '0 keeps everything')
  await send({ name: 'setRetention', input: { days: 2 }, now })
  await eventually(async () => (await counts())[0]!['messages'] === 1 || undefined, 'the messages to go')
  await eventually(async () => (await rows('SELECT * FROM events WHERE kind = \'message_posted\'')).length === 1 || undefined, 'the events to go')
  t.strictSame(await counts(), [{ messages: 1, files: 0, tasks: 1 }])
  t.strictSame(await rows('SELECT count(*) AS n FROM text_rows WHERE kind = \'message\''), [{ n: 1 }], 'nor are they found')
})

t.test('what one alarm is too short for, the next one takes away', async t => {
  const { send, rows, exec, room, alarm } = await open(t)
  const now = Date.now()
  await exec(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 21000)
    INSERT INTO events (room, id, at, actor, actor_kind, kind) SELECT '${room}', n, '2026-01-01T00:00:00.000Z', 'ann', 'agent', 'message_acked' FROM n`)
  await exec('UPDATE rooms SET event_seq = 21000')
  await send({ name: 'setRetention', input: { days: 1 }, now })
  await eventually(async () => (await rows("SELECT id FROM events WHERE kind = 'message_acked' LIMIT 1")).length === 0 || undefined, 'all of them to go')
  await eventually(async () => (await alarm() ?? 0) > now + DAY - SECOND || undefined, 'the round to end')
})

t.test('whoever was silent for a day has left, once; who was heard of stays, though the object slept in between', async t => {
  const { send, told, rows, sleep } = await open(t)
  const now = Date.now()
  await send(
    { name: 'whatsNew', input: {}, who: 'bob', now: now - 30 * HOUR },
    { name: 'peek', input: { quiet: true }, who: 'bob', now: now - HOUR }
  )
  await sleep()
  await send({ name: 'whatsNew', input: {}, who: 'ann', now: now - 30 * HOUR })
  await eventually(async () => (await told('agent_gone')).length > 0 || undefined, 'ann to leave')
  t.match(await told('agent_gone'), [{ actor: 'system', body: 'ann' }])
  t.strictSame(await rows('SELECT agent, gone FROM cursors ORDER BY agent'), [{ agent: 'ann', gone: 1 }, { agent: 'bob', gone: 0 }])
  await send({ name: 'whatsNew', input: {}, who: 'ann', now })
  t.strictSame((await told('agent_joined')).map(({ actor }) => actor), ['bob', 'ann', 'ann'])
})

t.test('what came of a call that may be sent again is forgotten after a day', async t => {
  const { send, rows } = await open(t)
  const now = Date.now()
  await send({ name: 'postMessage', input: { body: 'once' }, who: 'ann', now: now - DAY - HOUR, key: 'k1' })
  await eventually(async () => (await rows('SELECT key FROM done_calls')).length === 0 || undefined, 'the call to be forgotten')
  t.equal((await rows('SELECT id FROM messages')).length, 1)
})

t.test('switched off, nothing is taken away; leases end and agents leave all the same', async t => {
  const { send, told, rows } = await open(t, { READYROOM_PRUNE: 'off' })
  const now = Date.now()
  const old = now - 3 * DAY
  await send(
    { name: 'postMessage', input: { body: 'old' }, who: 'ann', now: old },
    { name: 'putFile', input: { name: 'scratch', content_base64: 'aGk=', expires_in_hours: 1, max_bytes: 10 }, who: 'ann', now: old },
    { name: 'setRetention', input: { days: 1 }, now },
    { name: 'createTask', input: { title: 'one' }, who: 'ann', now: old },
    { name: 'claimTask', input: { task_id: 1, lease_seconds: 30 }, who: 'ann', now: old }
  )
  await eventually(async () => (await told('agent_gone')).length === 1 || undefined, 'ann to leave')
  t.equal((await told('task_lapsed')).length, 1)
  t.strictSame(await rows('SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM files) AS files'), [{ messages: 1, files: 1 }])
})

t.test('two rounds are as far apart as was set, and a lease waits for none of them', async t => {
  const { send, alarm, told, rows } = await open(t, { READYROOM_PRUNE_INTERVAL: '7200' })
  const now = Date.now()
  const put = (name: string, at: number): Step => ({ name: 'putFile', input: { name, content_base64: 'aGk=', expires_in_hours: 1, max_bytes: 10 }, who: 'ann', now: at })
  await send(put('first', now - HOUR))
  await eventually(async () => (await told('file_expired')).length === 1 || undefined, 'the first file to go')
  const [{ value: swept }] = await eventually(async () => {
    const found = await rows<{ value: string }>("SELECT value FROM marks WHERE name = 'swept_at'")
    return found.length === 1 ? found as [{ value: string }] : undefined
  }, 'the round to end')
  await send(put('second', now - HOUR))
  t.equal(await alarm(), Number(swept) + 2 * HOUR)
  await send(
    { name: 'createTask', input: { title: 'one' }, who: 'ann', now },
    { name: 'claimTask', input: { task_id: 1, lease_seconds: 30 }, who: 'ann', now: now - 30 * SECOND }
  )
  await eventually(async () => (await told('task_lapsed')).length === 1 || undefined, 'the lease to end')
  t.equal((await told('file_expired')).length, 1)
  t.equal(await alarm(), Number(swept) + 2 * HOUR, 'and the round is still to come')
})

t.test('a room in which nothing can become due has no alarm: an empty one, one that everybody has left, one that is deleted', async t => {
  const { send, alarm, told, rows, room } = await open(t, { READYROOM_PRUNE_INTERVAL: '1' })
  t.equal(await alarm(), null)
  const now = Date.now()
  await send({ name: 'setRoomInfo', input: { description: 'quiet' }, now })
  t.equal(await alarm(), null, 'it keeps everything for ever')
  await send({ name: 'postMessage', input: { body: 'bye' }, who: 'ann', now: now - 2 * DAY })
  await eventually(async () => (await told('agent_gone')).length === 1 || undefined, 'ann to leave')
  t.equal(await alarm(), null)
  t.strictSame(await rows("SELECT name FROM marks WHERE name LIKE 'heard:%'"), [], 'nor is anything kept of ann')
  await send({ name: 'setRetention', input: { days: 1 }, now })
  await eventually(async () => (await rows('SELECT id FROM messages')).length === 0 || undefined, 'the message to go')
  const left = await rows<{ at: string }>('SELECT at FROM events ORDER BY at LIMIT 1')
  t.equal(await alarm(), Date.parse(left[0]!.at) + DAY + 1, 'as long as there is something to take away')
  await send({ name: 'postMessage', input: { body: 'back' }, who: 'ann', now }, { name: 'deleteRoom', input: { confirm: room }, now })
  await eventually(async () => await alarm() === null || undefined, 'the alarm to go with the room')
})

t.test('while an alarm is set that is near enough, a call looks for nothing and sets none; an agent costs a row an hour', async t => {
  const { send, alarm, rows } = await open(t)
  const now = Date.now()
  await send({ name: 'whatsNew', input: {}, who: 'ann', now })
  const at = await alarm()
  t.equal(at, now + 25 * HOUR)
  const heard = () => rows("SELECT value FROM marks WHERE name = 'heard:ann'")
  await send({ name: 'postMessage', input: { body: 'soon after' }, who: 'ann', now: now + HOUR - 1, key: 'k1' })
  t.strictSame([await alarm(), await heard()], [at, [{ value: String(now) }]])
  await send({ name: 'postMessage', input: { body: 'later' }, who: 'ann', now: now + HOUR })
  t.strictSame([await alarm(), await heard()], [at, [{ value: String(now + HOUR) }]])
})
