import t from 'tap'
import { Desk } from '../../../lib/desk'
import { ReadyroomError } from '../../../lib/errors'
import { MemoryTicketStore } from '../../../lib/memory-store'
import { Metrics } from '../../../lib/node/metrics'
import { Presence } from '../../../lib/presence'
import { OWNER } from '../../../lib/principal'
import type { Decision } from '../../../lib/store'
import { Clock } from '../../helpers/build'

/** A store whose disk is full when it is told so. */
class Filling extends MemoryTicketStore {
  full = false

  override async commit (decision: Decision) {
    if (this.full) throw new ReadyroomError('STORE_UNAVAILABLE', 'full')
    return super.commit(decision)
  }
}

async function open () {
  const clock = new Clock()
  const store = new Filling({ now: clock.now })
  const metrics = new Metrics({ version: '1.2.3' })
  const ticketStore = metrics.measured(store)
  const desk = await new Desk(ticketStore, { now: clock.now }).open()
  const presence = new Presence()
  metrics.watch({ desk, presence, ticketStore })
  /** Every sample, by its name and labels. */
  const samples = async (): Promise<Record<string, number>> => {
    const lines = (await metrics.text()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
    return Object.fromEntries(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
  }
  return { clock, store, desk, presence, metrics, samples }
}

t.test('an empty queue has every number, at nought', async t => {
  const { samples } = await open()
  t.match(await samples(), {
    'readyroom_tickets_pending{urgency="low"}': 0,
    'readyroom_tickets_pending{urgency="normal"}': 0,
    'readyroom_tickets_pending{urgency="blocking"}': 0,
    readyroom_oldest_pending_age_seconds: 0,
    'readyroom_ticket_events_total{event="answered"}': 0,
    readyroom_commit_duration_seconds_count: 0,
    readyroom_commit_failures_total: 0,
    readyroom_waiters: 0,
    readyroom_event_streams: 0,
    'readyroom_build_info{version="1.2.3"}': 1
  })
})

t.test('what is pending is counted by urgency when it is asked for, and aged by the oldest', async t => {
  const { samples, desk, clock } = await open()
  await desk.ask({ stream: 'a', question: 'q', urgency: 'blocking' })
  clock.by(10_000)
  await desk.ask({ stream: 'a', question: 'q' })
  const { id } = await desk.ask({ stream: 'b', question: 'q', timeout_seconds: 5, default_answer: 'no' })
  clock.by(2_500)
  t.match(await samples(), { 'readyroom_tickets_pending{urgency="normal"}': 2, readyroom_oldest_pending_age_seconds: 12.5 })
  clock.by(5_000)
  const now = await samples()
  t.match(now, { 'readyroom_tickets_pending{urgency="normal"}': 1, 'readyroom_tickets_pending{urgency="blocking"}': 1 })
  t.equal(now['readyroom_ticket_events_total{event="expired"}'], 1, `${id} was due and nobody had read it`)
})

t.test('changes are counted by their name, commits by how long they took', async t => {
  const { samples, desk, presence } = await open()
  const { id } = await desk.ask({ stream: 'a', question: 'q' })
  await desk.answer(id, 'yes', OWNER)
  await desk.undo(id, OWNER)
  const waiting = desk.wait(id, { ms: 60_000 })
  const closed = presence.openStream()
  t.match(await samples(), { readyroom_waiters: 1, readyroom_event_streams: 1 })
  await desk.cancel(id)
  await waiting
  closed()
  const now = await samples()
  for (const event of ['enqueued', 'answered', 'undone', 'cancelled']) t.equal(now[`readyroom_ticket_events_total{event="${event}"}`], 1, event)
  t.match(now, { readyroom_commit_duration_seconds_count: 4, 'readyroom_commit_duration_seconds_bucket{le="+Inf"}': 4, readyroom_waiters: 0 })
  t.ok(now['readyroom_commit_duration_seconds_sum']! > 0)
})

t.test('what could not be saved is a failure; what somebody else had settled first is none', async t => {
  const { samples, desk, store } = await open()
  const { id } = await desk.ask({ stream: 'a', question: 'q' })
  await Promise.allSettled([desk.answer(id, 'yes', OWNER), desk.answer(id, 'no', OWNER)])
  t.equal((await samples())['readyroom_commit_failures_total'], 0)
  store.full = true
  await t.rejects(desk.ask({ stream: 'a', question: 'q' }), { code: 'STORE_UNAVAILABLE' })
  const now = await samples()
  t.equal(now['readyroom_commit_failures_total'], 1)
  t.equal(now['readyroom_ticket_events_total{event="enqueued"}'], 1)
})

t.test('each measured store passes everything else on', async t => {
  const { desk, metrics } = await open()
  const store = metrics.measured(new MemoryTicketStore())
  await store.load()
  t.strictSame(await store.list({}), [])
  t.equal(await store.get('x'), undefined)
  t.strictSame(await store.since(0, 1), [])
  t.strictSame(await store.history(undefined, 1), [])
  t.match(store.head(), { seq: 0 })
  await store.close()
  t.equal(desk.head().seq, 0)
})
