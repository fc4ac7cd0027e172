import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Desk } from '../../../lib/desk'
import { MemoryTicketStore } from '../../../lib/memory-store'
import { OWNER } from '../../../lib/principal'
import { RoomDesk } from '../../../lib/room/desk'
import { TicketJoiner } from '../../../lib/room/ticket-joiner'
import type { CallHead } from '../../../lib/room/store'
import type { Ticket } from '../../../schemas/ticket'
import { Clock } from '../../helpers/build'
import { ThreadlessRoomStore } from '../../helpers/threadless-room-store'
import { TryingRoomStore } from '../../helpers/trying-room-store'

interface Later { ms: number, look: () => void }

/** Tickets in memory, which a test that opens the rooms again keeps. */
async function tickets (clock: Clock): Promise<Desk> {
  const store = new MemoryTicketStore({ now: clock.now })
  await store.load()
  return new Desk(store, { now: clock.now }).open()
}

async function open (t: Test, { clock = new Clock(), file = join(t.testdir(), 'room.db'), desk }: { clock?: Clock, file?: string, desk?: Desk } = {}) {
  const queue = desk ?? await tickets(clock)
  const store = new TryingRoomStore(new ThreadlessRoomStore(file))
  const rooms = new RoomDesk({ store, now: clock.now })
  await rooms.run('addRoom', rooms.system('main'), {})
  const warnings: string[] = []
  /** What is to be looked at later, at most one thing. */
  const timers: Later[] = []
  let most = 0
  const joiner = new TicketJoiner({
    desk: queue,
    rooms,
    log: { warn: (_details, message) => { warnings.push(message) } },
    later (ms, look) {
      const timer = { ms, look }
      timers.push(timer)
      most = Math.max(most, timers.length)
      return () => { if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1) }
    }
  })
  async function close (): Promise<void> {
    await joiner.close()
    await rooms.close()
  }
  t.teardown(close)
  const ann: CallHead = { actor: { name: 'ann', kind: 'agent', admin: false }, room: 'main', now: clock.ms }
  const ask = (more: object = {}): Promise<Ticket> => queue.ask({ stream: 'ann', asker: 'ann', room: 'main', question: 'Ship it?', ...more })
  /** The kinds that the room tells of tickets, in order. */
  const told = async (): Promise<string[]> => (await rooms.run('readEvents', rooms.system('main'), { limit: 500 })).events
    .map(({ kind }) => kind).filter(kind => kind.startsWith('ticket_'))
  const task = (id: number) => rooms.run('getTask', { ...ann, now: clock.ms }, { task_id: id })
  return { clock, file, desk: queue, store, rooms, joiner, warnings, timers, ann, ask, told, task, close, mostTimers: () => most }
}

/** What the timer of the joiner does when its time has come. */
function fire (timers: Later[]): void {
  const [timer] = timers.splice(0)
  timer!.look()
}

t.test('tickets from before the rooms are not told, and all that comes later is, in order and once', async t => {
  const { desk, joiner, ask, told } = await open(t)
  const before = await ask()
  await joiner.start()
  t.strictSame(await told(), [])
  await desk.answer(before.id, 'yes', OWNER)
  const { id } = await ask()
  await desk.cancel(id)
  await joiner.settled()
  t.strictSame(await told(), ['ticket_answered', 'ticket_enqueued', 'ticket_cancelled'])
})

t.test('an entry that comes while the next expiry is looked up is applied without waiting for another', async t => {
  const { desk, store, joiner, ask, told } = await open(t)
  await joiner.start()
  const looked = store.hold('awaitedTickets')
  const { id } = await ask()
  const release = await looked
  await desk.answer(id, 'yes', OWNER)
  release()
  await joiner.settled()
  t.strictSame(await told(), ['ticket_enqueued', 'ticket_answered'])
})

t.test('an entry that comes while others are applied is applied after them', async t => {
  const { desk, store, joiner, ask, told } = await open(t)
  await joiner.start()
  const applied = store.hold('applyTickets')
  const { id } = await ask()
  const release = await applied
  await desk.answer(id, 'yes', OWNER)
  await desk.undo(id, OWNER)
  release()
  await joiner.settled()
  t.strictSame(await told(), ['ticket_enqueued', 'ticket_answered', 'ticket_undone'])
})

t.test('while the database cannot save the log says so, and when it can everything is told once', async t => {
  const { desk, store, joiner, ask, told, warnings, timers } = await open(t)
  await joiner.start()
  store.fail('applyTickets', 2)
  const { id } = await ask()
  await joiner.settled()
  t.match(warnings, [/it will be, when their database can save/])
  await desk.answer(id, 'yes', OWNER)
  await joiner.settled()
  t.equal(warnings.length, 2)
  t.strictSame(await told(), [])
  t.match(timers, [{ ms: 1_000 }], 'one timer, and no loop')
  fire(timers)
  await joiner.settled()
  t.strictSame(await told(), ['ticket_enqueued', 'ticket_answered'])
  t.strictSame(timers, [], 'nothing waits any more')
})

t.test('a crash between the log of the tickets and the rooms loses nothing and doubles nothing', async t => {
  const first = await open(t)
  await first.joiner.start()
  const { id } = await first.ask()
  await first.joiner.settled()
  // What the tickets save now, the rooms do not hear of any more.
  await first.close()
  await first.desk.answer(id, 'yes', OWNER)
  for (let start = 0; start < 3; start++) {
    const again = await open(t, first)
    await again.joiner.start()
    t.strictSame(await again.told(), ['ticket_enqueued', 'ticket_answered'], `start ${start}`)
    await again.close()
  }
})

t.test('more entries than are applied in one go are told in order after a long absence', async t => {
  const first = await open(t)
  await first.joiner.start()
  await first.close()
  for (let n = 0; n < 120; n++) {
    const { id } = await first.ask()
    await first.desk.answer(id, `${n}`, OWNER)
  }
  const again = await open(t, first)
  await again.joiner.start()
  const { events } = await again.rooms.run('readEvents', again.rooms.system('main'), { kind: 'ticket_answered', limit: 500 })
  t.strictSame(events.map(({ body }) => body), Array.from({ length: 120 }, (_, n) => `${n}`))
})

t.test('rooms that are ahead of the log, as beside an older copy of the tickets, say so and tell what comes from now on', async t => {
  const first = await open(t)
  await first.joiner.start()
  for (let n = 0; n < 3; n++) await first.ask()
  await first.joiner.settled()
  await first.close()
  const older = await tickets(first.clock)
  const again = await open(t, { ...first, desk: older })
  await again.joiner.start()
  t.match(again.warnings, [/3 entries.*0/])
  const { id } = await again.ask()
  await older.answer(id, 'yes', OWNER)
  await again.joiner.settled()
  t.strictSame((await again.told()).slice(3), ['ticket_enqueued', 'ticket_answered'])
})

t.test('the longest answer that a person can give frees the task that waits, and holds up nothing behind it', async t => {
  const { desk, rooms, joiner, ann, ask, task, told, warnings } = await open(t)
  await joiner.start()
  const { id } = await ask()
  await rooms.run('createTask', ann, { title: 'ship', ticket_id: id, claim: true })
  await desk.answer(id, '\u{1f6a2}"'.repeat(5_461), OWNER)
  await ask()
  await joiner.settled()
  t.strictSame(warnings, [])
  t.match(await task(1), { status: 'in_progress', notes: [{ author: 'system', body: new RegExp(`${id}.*wait_for_answer`) }] })
  t.strictSame(await told(), ['ticket_enqueued', 'ticket_answered', 'ticket_enqueued'])
})

t.test('while a task waits there is one timer, for the next expiry; a default frees the task, and one without leaves it blocked', async t => {
  const { clock, desk, rooms, joiner, ann, ask, task, timers, mostTimers } = await open(t)
  await joiner.start()
  t.strictSame(timers, [], 'nobody waits')
  await ask({ timeout_seconds: 10 })
  await joiner.settled()
  t.strictSame(timers, [], 'a ticket alone is nothing to wait for')
  const soon = await ask({ timeout_seconds: 60, default_answer: 'no' })
  const later = await ask({ timeout_seconds: 120 })
  await rooms.run('createTask', ann, { title: 'soon', ticket_id: soon.id })
  await rooms.run('createTask', ann, { title: 'later', ticket_id: later.id, claim: true })
  await ask()
  await joiner.settled()
  t.equal(timers.length, 1)
  clock.by(60_000)
  fire(timers)
  // The timer is set anew once the expiry was told.
  while (timers.length === 0) await new Promise(resolve => setImmediate(resolve))
  t.match(await task(1), { status: 'pending', notes: [{ body: /"no"/ }] })
  t.match(await task(2), { status: 'blocked', owner: 'ann', ticket_id: later.id })
  t.ok(timers[0]!.ms > 0 && timers[0]!.ms <= 60_000, 'for the other one')
  clock.by(60_000)
  await desk.expireDue()
  await joiner.settled()
  t.match(await task(2), { status: 'blocked', owner: 'ann', notes: [{ body: /stays blocked/ }] })
  t.equal(mostTimers(), 1, 'never two')
})

t.test('a task that begins to wait for a ticket that is there already has the timer as well', async t => {
  const { clock, rooms, joiner, ann, ask, task, timers } = await open(t)
  await joiner.start()
  const { id } = await ask({ timeout_seconds: 60, default_answer: 'no' })
  await joiner.settled()
  await rooms.run('createTask', ann, { title: 'ship', claim: true })
  t.strictSame(timers, [], 'nobody waits yet')
  await rooms.run('updateTask', ann, { task_id: 1, status: 'blocked', ticket_id: id })
  await joiner.settled()
  t.equal(timers.length, 1)
  clock.by(60_000)
  fire(timers)
  await joiner.settled()
  while ((await task(1)).status === 'blocked') await new Promise(resolve => setImmediate(resolve))
  t.match(await task(1), { status: 'in_progress', notes: [{ body: /"no"/ }] })
})

t.test('a task whose ticket was never enqueued, as after a crash between the two, is free again at the next start', async t => {
  const first = await open(t)
  await first.joiner.start()
  await first.rooms.run('createTask', first.ann, { title: 'ship', ticket_id: 'k-never', claim: true })
  await first.close()
  const again = await open(t, first)
  await again.joiner.start()
  t.match(await again.task(1), { status: 'pending', notes: [{ author: 'system', body: /k-never was never enqueued/ }] })
})

t.test('a task whose ticket ended without its being told is told at the next start, once', async t => {
  const first = await open(t)
  await first.joiner.start()
  const { id } = await first.ask()
  await first.desk.answer(id, 'yes', OWNER)
  await first.joiner.settled()
  await first.rooms.run('createTask', first.ann, { title: 'ship', ticket_id: id, claim: true })
  await first.close()
  for (let start = 0; start < 2; start++) {
    const again = await open(t, first)
    await again.joiner.start()
    const { status, notes } = await again.task(1)
    t.match({ status, notes }, { status: 'in_progress', notes: [{ author: 'system', body: /"yes"/ }] })
    t.equal(notes.length, 1)
    await again.close()
  }
})

t.test('a ticket of a room that was deleted is passed over, and what comes after it is told', async t => {
  const { desk, rooms, joiner, ask, told, warnings } = await open(t)
  await rooms.run('addRoom', rooms.system('gone'), {})
  await joiner.start()
  const { id } = await ask({ room: 'gone' })
  await joiner.settled()
  await rooms.run('deleteRoom', rooms.system('gone'), { confirm: 'gone' })
  await desk.answer(id, 'yes', OWNER)
  await ask()
  await joiner.settled()
  t.strictSame(await told(), ['ticket_enqueued'])
  t.strictSame(warnings, [])
})

t.test('after closing nothing is applied any more, and no timer is left', async t => {
  const { rooms, joiner, ann, ask, told, timers } = await open(t)
  await joiner.start()
  const { id } = await ask()
  await rooms.run('createTask', ann, { title: 'ship', ticket_id: id })
  await ask()
  await joiner.settled()
  t.equal(timers.length, 1)
  await joiner.close()
  t.strictSame(timers, [])
  const before = await told()
  await ask()
  t.strictSame(await told(), before)
})
