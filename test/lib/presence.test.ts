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

t.test('a page that polls counts for seventy-five seconds after each read', async t => {
  let now = 0
  const presence = new Presence(() => now)
  presence.notePoll()
  now = 74_999
  t.equal(presence.isPageOpen(), true)
  now = 75_000
  t.equal(presence.isPageOpen(), false)
  presence.notePoll()
  t.equal(presence.isPageOpen(), true)
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
