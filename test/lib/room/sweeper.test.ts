import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SqliteRoomStore } from '../../../lib/node/room/sqlite-room-store'
import { RoomDesk } from '../../../lib/room/desk'
import { RoomSweeper, type SweeperOptions } from '../../../lib/room/sweeper'
import type { CallHead } from '../../../lib/room/store'
import type { RoomEvent } from '../../../schemas/room'
import { Clock } from '../../helpers/build'

const DAY = 86_400_000

async function open (t: Test, options: Partial<SweeperOptions> = {}) {
  const clock = new Clock()
  const warnings: string[] = []
  const rooms = new RoomDesk({ store: new SqliteRoomStore(join(t.testdir(), 'room.db')), now: clock.now })
  await rooms.run('addRoom', rooms.system('main'), {})
  const log = { warn: (_fields: object, text: string) => { warnings.push(text) } }
  const sweeper = new RoomSweeper({ rooms, log, intervalMs: 3_600_000, now: clock.now, ...options })
  t.teardown(async () => {
    await sweeper.close()
    await rooms.close()
  })
  const as = (name: string): CallHead => ({ actor: { name, kind: 'agent', admin: false }, room: 'main', now: clock.ms })
  /** The next event of a kind. */
  const heard = (kind: RoomEvent['kind']): Promise<RoomEvent> => new Promise(resolve => {
    const stop = rooms.feed.overhear(event => {
      if (event.kind !== kind) return
      stop()
      resolve(event)
    })
  })
  return { clock, rooms, sweeper, as, heard, warnings }
}

t.test('what is older than a room keeps goes, however much it is; tasks stay', async t => {
  const { clock, rooms, sweeper, as } = await open(t)
  await rooms.run('setRetention', rooms.system('main'), { days: 7 })
  await rooms.run('createTask', as('ann'), { title: 'stays' })
  await Promise.all(Array.from({ length: 1_201 }, (_, n) => rooms.run('postMessage', as('ann'), { body: `old ${n}` })))
  clock.by(8 * DAY)
  await rooms.run('postMessage', as('ann'), { body: 'new' })
  await sweeper.round()
  t.match(await rooms.run('readMessages', as('ann'), { since_id: 0 }), { messages: [{ body: 'new' }] })
  t.equal((await rooms.run('readMessages', as('ann'), { since_id: 0 })).messages.length, 1)
  t.equal((await rooms.run('listTasks', as('ann'), {})).tasks.length, 1)
})

t.test('a file whose time is over goes, and the log says so; switched off, nothing is taken away', async t => {
  for (const prune of [true, false]) {
    const { clock, rooms, sweeper, as } = await open(t, { prune })
    await rooms.run('putFile', as('ann'), { name: 'a', content_base64: 'aGk=', expires_in_hours: 1, max_bytes: 100 })
    clock.by(2 * 3_600_000)
    await sweeper.round()
    t.equal((await rooms.run('readEvents', as('ann'), { kind: 'file_expired' })).events.length, prune ? 1 : 0)
  }
})

t.test('when a token was used is kept', async t => {
  const { clock, rooms, sweeper } = await open(t)
  const token = await rooms.run('mintToken', rooms.system(), { hash: 'h'.repeat(64), agent: 'ann', role: 'agent', home: 'main' })
  rooms.tokens.takeUses = () => [[token.id, new Date(clock.ms).toISOString()]]
  await sweeper.round()
  t.match((await rooms.run('listTokens', rooms.system(), {})).tokens, [{ agent: 'ann', last_used_at: new Date(clock.ms).toISOString() }])
})

t.test('a lease that ends is told soon afterwards, without anybody who looks', async t => {
  const { clock, rooms, sweeper, as, heard } = await open(t, { firstMs: 3_600_000 })
  sweeper.start()
  await rooms.run('createTask', as('ann'), { title: 'one' })
  // It has been running for a while when the timer is set.
  await rooms.run('claimTask', { ...as('ann'), now: clock.ms - 29_900 }, { task_id: 1, lease_seconds: 30 })
  const lapsed = heard('task_lapsed')
  clock.by(101)
  t.match(await lapsed, { task_id: 1, actor: 'system', concerns: ['ann'] })
})

t.test('whoever was silent for a day has left, and is back with the next call; who was heard of stays', async t => {
  const { clock, rooms, sweeper, as } = await open(t)
  await rooms.run('whatsNew', as('ann'), {})
  await rooms.run('whatsNew', as('bob'), {})
  clock.by(DAY)
  rooms.presence.glimpse('main', 'bob', clock.ms)
  await sweeper.round()
  await sweeper.round()
  const goings = async (): Promise<string[]> => (await rooms.run('readEvents', rooms.system('main'), {})).events
    .filter(({ kind }) => kind === 'agent_gone' || kind === 'agent_joined').map(({ kind, body, actor }) => `${kind} ${body ?? actor}`)
  t.strictSame((await goings()).filter(text => !text.includes('system')), ['agent_joined ann', 'agent_joined bob', 'agent_gone ann'])
  t.strictSame((await rooms.run('members', as('bob'), {})).agents.map(({ name }) => name).includes('ann'), false, 'folded away: it has no token')
  await rooms.run('whatsNew', as('ann'), {})
  t.strictSame((await goings()).filter(text => !text.includes('system')).at(-1), 'agent_joined ann')
  t.ok((await rooms.run('members', as('bob'), {})).agents.some(({ name }) => name === 'ann'))
})

t.test('a round that fails is logged, and the next one is made all the same', async t => {
  const { rooms, sweeper, warnings } = await open(t)
  const { run } = rooms
  rooms.run = async () => { throw new Error('no') }
  await sweeper.round()
  t.match(warnings, [/tried again/])
  rooms.run = run
  await sweeper.round()
  t.equal(warnings.length, 1)
})
