import t from 'tap'
import { createBus } from '../../lib/bus'
import { Presence } from '../../lib/presence'
import type { AuditEntry } from '../../schemas/event'

t.test('a page counts as open while it has a stream', async t => {
  const presence = new Presence(() => 0)
  t.equal(presence.isPageOpen(), false)
  const [one, two] = [presence.openStream(), presence.openStream()]
  t.equal(presence.streams, 2)
  one()
  one()
  t.equal(presence.streams, 1, 'an end is told once')
  t.equal(presence.isPageOpen(), true)
  two()
  t.equal(presence.streams, 0)
  t.equal(presence.isPageOpen(), false)
})

t.test('a page that polls counts for seventy-five seconds after each read; a single read for ten', async t => {
  let now = 0
  const presence = new Presence(() => now)
  const isOpenAt = (ms: number): boolean => {
    now = ms
    return presence.isPageOpen()
  }
  presence.notePoll()
  t.equal(isOpenAt(9_999), true)
  t.equal(isOpenAt(10_000), false)
  presence.notePoll()
  t.equal(isOpenAt(84_999), true, 'who has read again within that time polls')
  t.equal(isOpenAt(85_000), false)
  presence.notePoll()
  t.equal(isOpenAt(94_999), true)
  t.equal(isOpenAt(95_000), false, 'after a pause it is a single read again')
})

t.test('who listens on the bus hears everything until they stop', async t => {
  const bus = createBus()
  const heard: number[] = []
  const stop = bus.subscribe(({ seq }) => { heard.push(seq) })
  bus.subscribe(({ seq }) => { heard.push(seq * 10) })
  bus.publish({ seq: 1 } as AuditEntry)
  stop()
  stop()
  bus.publish({ seq: 2 } as AuditEntry)
  t.strictSame(heard, [1, 10, 20])
})
