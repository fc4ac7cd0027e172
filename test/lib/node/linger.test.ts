import { mock } from 'node:test'
import t from 'tap'
import { Desk } from '../../../lib/desk'
import { MemoryTicketStore } from '../../../lib/memory-store'
import { AttachedClients } from '../../../lib/node/attached'
import { Linger } from '../../../lib/node/linger'
import { Presence } from '../../../lib/presence'
import { OWNER } from '../../../lib/principal'
import { Clock } from '../../helpers/build'

interface Teardown { teardown (close: () => unknown): void }

/** Everything a lingering daemon looks at, on timers that the test moves. */
async function left (t: Teardown, prepare: (desk: Desk) => Promise<unknown>) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const clock = new Clock()
  const store = new MemoryTicketStore({ now: clock.now })
  await store.load()
  const desk = await new Desk(store, { now: clock.now }).open()
  await prepare(desk)
  const presence = new Presence()
  const clients = new AttachedClients()
  let over = false
  const linger = new Linger({ desk, presence, clients, onIdle: () => { over = true } })
  t.teardown(() => linger.stop())
  return { clock, desk, presence, clients, isOver: () => over, linger }
}

/** Lets so many seconds pass, and whatever they set off come to its end. */
async function pass (seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    mock.timers.tick(1_000)
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  }
}

const ask = { stream: 'agent', question: 'Ship it?' }

t.test('it ends five seconds after the last ticket is answered, and not before', async t => {
  let id = ''
  const { desk, isOver } = await left(t, async desk => { ({ id } = await desk.ask(ask)) })
  await pass(600)
  t.notOk(isOver(), 'a ticket is pending')
  await desk.answer(id, 'yes', OWNER)
  await pass(4)
  t.notOk(isOver(), 'there is time for an undo or another agent')
  await pass(1)
  t.ok(isOver())
})

t.test('an answer that is undone keeps it', async t => {
  let id = ''
  const { desk, isOver } = await left(t, async desk => { ({ id } = await desk.ask(ask)) })
  await desk.answer(id, 'yes', OWNER)
  await pass(4)
  await desk.undo(id, OWNER)
  await pass(600)
  t.notOk(isOver())
  await desk.cancel(id)
  await pass(5)
  t.ok(isOver())
})

t.test('it looks once a minute, expires what is due though nobody reads, and then ends', async t => {
  let id = ''
  const { clock, desk, isOver } = await left(t, async desk => { ({ id } = await desk.ask({ ...ask, timeout_seconds: 60, default_answer: 'no' })) })
  clock.by(60_000)
  t.equal(desk.pendingCount, 1)
  await pass(59)
  t.equal(desk.pendingCount, 1)
  await pass(1)
  t.equal(desk.pendingCount, 0)
  await pass(5)
  t.ok(isOver())
  t.match(await desk.get(id), { status: 'expired', answer: 'no', answered_by: 'default' })
})

t.test('an open page keeps it, and so does an attached client, until they go', async t => {
  const { presence, clients, isOver } = await left(t, async () => {})
  const close = presence.openStream()
  await pass(600)
  t.notOk(isOver(), 'a page is open')
  const detach = clients.add({ pid: 1, version: '1.2.3', say () {}, end () {} })
  close()
  await pass(600)
  t.notOk(isOver(), 'a client is attached')
  detach()
  await pass(5)
  t.ok(isOver())
})

t.test('a page that closes while nothing is pending is noticed within a second', async t => {
  const { presence, isOver } = await left(t, async () => {})
  const close = presence.openStream()
  await pass(30)
  close()
  await pass(6)
  t.ok(isOver())
})

t.test('with nothing at all it ends after the grace; stopped, it does nothing more', async t => {
  const first = await left(t, async () => {})
  await pass(5)
  t.ok(first.isOver())
  mock.timers.reset()
  const stopped = await left(t, async () => {})
  stopped.linger.stop()
  await pass(600)
  t.notOk(stopped.isOver())
})
