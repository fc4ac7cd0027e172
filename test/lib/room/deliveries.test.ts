import t from 'tap'
import type { DeliveryMark } from '../../../lib/room/commands/deliveries'
import { DeliveryBook } from '../../../lib/room/deliveries'
import { Clock } from '../../helpers/build'
import { eventually } from '../../helpers/process'

/** A book, and a database of marks that a test holds up or breaks. */
function open () {
  const clock = new Clock()
  const saved: DeliveryMark[] = []
  const state = { broken: false, tries: 0, hold: undefined as Promise<void> | undefined }
  const book = new DeliveryBook({
    now: clock.now,
    async save (marks) {
      state.tries++
      await state.hold
      if (state.broken) throw new Error('the disk is full')
      saved.push(...marks)
      return { tickets: marks.flatMap(mark => mark.kind === 'delivered' ? [mark.ticket_id] : []) }
    }
  })
  return { book, clock, saved, state }
}

const delivered = (id: string, rev = 2) => ({ room: 'main', ticket_id: id, rev })
const idsOf = (marks: DeliveryMark[]): string[] => marks.map(mark => mark.kind === 'read' ? `${mark.asker} read` : mark.ticket_id)

t.test('what comes while something is saved is saved after it, in order, and nothing of it twice', async t => {
  const { book, saved, state } = open()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.hold = promise
  book.delivered('ann', [delivered('k1')])
  book.delivered('ann', [delivered('k2')])
  book.called('ann')
  book.delivered('bob', [delivered('k3')])
  resolve()
  await book.settled()
  t.strictSame(idsOf(saved), ['k1', 'k2', 'ann read', 'k3'])
  t.equal(state.tries, 2, 'all that came meanwhile is one')
})

t.test('what could not be saved is tried again by itself, before what came later', async t => {
  const { book, saved, state } = open()
  state.broken = true
  book.delivered('ann', [delivered('k1')])
  await book.settled()
  book.delivered('ann', [delivered('k2')])
  book.called('ann')
  await book.settled()
  t.equal(state.tries, 1, 'a database that cannot save is not asked for each mark')
  const told: string[] = []
  book.onChange(tickets => { told.push(...tickets) })
  state.broken = false
  // Its timer holds no process open, so this does.
  await eventually(() => told.length > 0 || undefined, 'the next try')
  t.strictSame(told, ['k1', 'k2'])
  t.strictSame(idsOf(saved), ['k1', 'k2', 'ann read'])
  await book.close()
})

t.test('closing saves what is held, the first refusal or not; where it cannot, it ends all the same', async t => {
  for (const broken of [false, true]) {
    const { book, saved, state } = open()
    state.broken = true
    book.delivered('ann', [delivered('k1')])
    await book.settled()
    state.broken = broken
    await book.close()
    t.strictSame(idsOf(saved), broken ? [] : ['k1'])
    await book.close()
  }
})

t.test('closing waits for what is being saved', async t => {
  const { book, saved, state } = open()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.hold = promise
  book.delivered('ann', [delivered('k1')])
  const closed = book.close()
  book.delivered('ann', [delivered('k2')])
  resolve()
  await closed
  t.strictSame(idsOf(saved), ['k1', 'k2'])
})

t.test('an agent that has read everything costs nothing to hear from, until something is delivered to it', async t => {
  const { book, saved } = open()
  for (let n = 0; n < 100; n++) book.called('ann')
  await book.settled()
  t.strictSame(idsOf(saved), ['ann read'])
  book.delivered('ann', [delivered('k1')])
  book.called('bob')
  book.called('ann')
  book.called('ann')
  await book.settled()
  t.strictSame(idsOf(saved), ['ann read', 'k1', 'bob read', 'ann read'])
})

t.test('a database that is gone for long is held ten thousand marks for, the newest; no call of an agent waits', async t => {
  const { book, saved, state } = open()
  state.broken = true
  book.delivered('ann', [delivered('k0')])
  await book.settled()
  for (let n = 1; n <= 10_010; n++) book.delivered('ann', [delivered(`k${n}`)])
  state.broken = false
  await book.close()
  t.equal(saved.length, 10_000)
  t.strictSame([idsOf(saved)[0], idsOf(saved).at(-1)], ['k11', 'k10010'])
})

t.test('a receipt counts once its response is written, and not before', async t => {
  const { book, saved } = open()
  const receipt = book.receipt('ann')
  receipt.result('whats_new', {
    events: [
      { id: 1, at: 'then', room: 'main', actor: 'human', actor_kind: 'owner', kind: 'ticket_answered', ticket_id: 'k1' },
      { id: 2, at: 'then', room: 'main', actor: 'ann', actor_kind: 'agent', kind: 'ticket_cancelled', ticket_id: 'k2' },
      { id: 3, at: 'then', room: 'main', actor: 'bob', actor_kind: 'agent', kind: 'message_posted', message_id: 1 }
    ]
  })
  receipt.result('read_events', { events: [{ id: 1, at: 'then', room: 'main', actor: 'human', actor_kind: 'owner', kind: 'ticket_undone', ticket_id: 'k3' }] })
  await book.settled()
  t.strictSame(saved, [])
  receipt.written()
  receipt.written()
  await book.settled()
  t.match(saved, [{ kind: 'delivered', asker: 'ann', room: 'main', ticket_id: 'k1', saved_at: 'then' }])
  t.equal(saved.length, 1)
})
