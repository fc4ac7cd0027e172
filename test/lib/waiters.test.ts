import t from 'tap'
import { Waiters } from '../../lib/waiters'

const NEVER = { ms: 60_000, wakeInMs: 60_000 }

t.test('a wait ends when its ticket changes, and no other', async t => {
  const waiters = new Waiters()
  const [a, b] = [waiters.enter('a'), waiters.enter('b')]
  let other = false
  const [first, second] = [a.until(NEVER), b.until(NEVER).then(() => { other = true })]
  waiters.wake('a')
  await first
  t.equal(other, false)
  waiters.wake('b')
  await second
  a.leave()
  b.leave()
  t.equal(waiters.size, 0)
})

t.test('a change between the reading and the wait is not missed', async t => {
  const waiters = new Waiters()
  const waiter = waiters.enter('a')
  waiters.wake('a')
  await waiter.until(NEVER)
  t.pass('at once')
  const again = waiter.until(NEVER)
  waiters.wake('a')
  await again
  waiter.leave()
})

t.test('many wait for one ticket; one change wakes them all', async t => {
  const waiters = new Waiters()
  const all = Array.from({ length: 1_000 }, () => waiters.enter('a'))
  t.equal(waiters.size, 1_000)
  const ended = Promise.all(all.map(waiter => waiter.until(NEVER)))
  waiters.wake('a')
  await ended
  for (const waiter of all) waiter.leave()
  t.equal(waiters.size, 0)
})

t.test('it ends with its own time, or when the ticket wants to be looked at', async t => {
  const waiters = new Waiters()
  const waiter = waiters.enter('a')
  for (const until of [{ ms: 5, wakeInMs: 60_000 }, { ms: 60_000, wakeInMs: 5 }, { ms: 0, wakeInMs: 60_000 }, { ms: 60_000, wakeInMs: -5 }]) {
    const begun = performance.now()
    await waiter.until(until)
    t.ok(performance.now() - begun < 5_000, JSON.stringify(until))
  }
  waiter.leave()
})

t.test('it ends when the wall clock says so: a monotonic clock sleeps with its laptop', async t => {
  let now = 1_000
  const waiters = new Waiters(() => now)
  const waiter = waiters.enter('a')
  const wait = waiter.until(NEVER)
  now += 3_600_000
  await wait
  waiter.leave()
  t.equal(waiters.size, 0)
})

t.test('a wall clock that is set back prolongs nothing', async t => {
  let now = 1e12
  const waiters = new Waiters(() => now)
  const waiter = waiters.enter('a')
  const wait = waiter.until({ ms: 20, wakeInMs: 60_000 })
  now = 0
  await wait
  waiter.leave()
  t.equal(waiters.size, 0)
})

t.test('an aborted wait ends at once, before or while it waits, and leaves no listener', async t => {
  const waiters = new Waiters()
  const waiter = waiters.enter('a')
  const early = AbortSignal.abort()
  await waiter.until({ ...NEVER, signal: early })
  const controller = new AbortController()
  const wait = waiter.until({ ...NEVER, signal: controller.signal })
  controller.abort()
  await wait
  waiter.leave()
  t.equal(waiters.size, 0)
})

t.test('closing wakes everybody, and nobody waits afterwards', async t => {
  const waiters = new Waiters()
  const [a, b] = [waiters.enter('a'), waiters.enter('b')]
  const both = Promise.all([a.until(NEVER), b.until(NEVER)])
  t.equal(waiters.closed, false)
  waiters.close()
  await both
  t.equal(waiters.closed, true)
  const late = waiters.enter('c')
  await Promise.all([late.until(NEVER), a.until(NEVER)])
  for (const waiter of [a, b, late]) waiter.leave()
  t.equal(waiters.size, 0)
})

t.test('leaving twice is leaving once', async t => {
  const waiters = new Waiters()
  const [one, two] = [waiters.enter('a'), waiters.enter('a')]
  one.leave()
  one.leave()
  t.equal(waiters.size, 1)
  two.leave()
  t.equal(waiters.size, 0)
  waiters.wake('a')
})
