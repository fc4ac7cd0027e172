import t from 'tap'
import type { ToolCall, ToolReply } from '../../../schemas/internal'
import type { Ticket } from '../../../schemas/ticket'
import { Desk } from '../../../lib/desk'
import { ReadyroomError } from '../../../lib/errors'
import { MemoryTicketStore } from '../../../lib/memory-store'
import { LinkError } from '../../../lib/node/exchange'
import { PatientDesk } from '../../../lib/node/patient-desk'
import { localSeat, Seats, type Seat, type SeatCallOptions } from '../../../lib/node/seat'
import { OWNER } from '../../../lib/principal'
import { decide } from '../../helpers/decisions'
import { eventually } from '../../helpers/process'

const ask = { stream: 'agent', question: 'Ship it?' }
const pending = decide('a').ticket
const answered: Ticket = { ...pending, status: 'answered', answer: 'yes', answered_by: 'human', rev: 2 }

/** A seat that answers by `answer`, and keeps what it was asked. */
function seatOf (answer: (call: ToolCall, options: SeatCallOptions) => Promise<ToolReply>): Seat & { calls: ToolCall[] } {
  const calls: ToolCall[] = []
  return {
    over: false,
    calls,
    call (call, options) {
      calls.push(call)
      return answer(call, options)
    }
  }
}

async function openDesk (): Promise<Desk> {
  const store = new MemoryTicketStore()
  await store.load()
  return new Desk(store).open()
}

const lost = (): Promise<never> => Promise.reject(new LinkError('broken', 'the connection ended'))

t.test('calls are parked until there is a seat, and then made', async t => {
  const seats = new Seats()
  const desk = new PatientDesk(seats)
  const asked = desk.ask(ask)
  const listed = desk.pending()
  seats.take(localSeat(await openDesk()))
  t.match(await asked, { ...ask, status: 'pending' })
  t.ok((await listed).tickets.length <= 1)
  t.equal((await desk.cancel((await asked).id)).status, 'cancelled')
})

t.test('an ask that got no answer is sent again with the same id, to whoever is the daemon then', async t => {
  const real = await openDesk()
  const seats = new Seats()
  const first = seatOf(async call => {
    // The ticket is durable, but the answer is lost with the daemon.
    await localSeat(real).call(call, { timeoutMs: 1_000 })
    seats.vacate()
    seats.take(second)
    return lost()
  })
  const second = seatOf((call, options) => localSeat(real).call(call, options))
  seats.take(first)
  const ticket = await new PatientDesk(seats).ask({ ...ask, options: ['yes', 'no'] })
  t.equal(first.calls[0]!.id, second.calls[0]!.id)
  t.equal(ticket.id, first.calls[0]!.id)
  t.same(ticket.options, ['yes', 'no'])
  t.equal(real.pendingCount, 1)
})

t.test('a refusal of the daemon is final, unless it refuses because it is closing', async t => {
  const seats = new Seats()
  const full = new ReadyroomError('STORE_UNAVAILABLE', 'The disk is full.')
  const seat = seatOf(() => Promise.reject(full))
  seats.take(seat)
  const desk = new PatientDesk(seats, { patienceMs: 60_000 })
  await t.rejects(desk.ask(ask), full)
  t.equal(seat.calls.length, 1)

  const closing = seatOf(() => {
    seats.vacate()
    seats.take(next)
    return Promise.reject(full)
  })
  const next = seatOf(async () => ({ ticket: pending }))
  seats.take(closing)
  t.equal((await desk.ask(ask)).id, 'a')
  t.equal(closing.calls.length, 1)
})

t.test('without a daemon a call gives up in time and says what is known of its ticket', async t => {
  const seats = new Seats()
  const desk = new PatientDesk(seats, { patienceMs: 50 })
  await t.rejects(desk.ask(ask), { code: 'STORE_UNAVAILABLE', message: /No Ready Room daemon.*safe.*again in a minute/ })
  await t.rejects(desk.cancel('a'), { code: 'STORE_UNAVAILABLE', message: /safe/ })
  seats.take(seatOf(lost))
  await t.rejects(desk.ask(ask), { code: 'STORE_UNAVAILABLE', message: /does not answer.*list_pending before you ask again/ })
  await t.rejects(desk.pending(), { code: 'STORE_UNAVAILABLE', message: /does not answer.*again in a minute/ })
})

t.test('a process that cannot take part refuses with the reason at once, until it can', async t => {
  const seats = new Seats()
  const desk = new PatientDesk(seats)
  const parked = desk.ask(ask)
  seats.refuse('The port is held by something else.')
  await t.rejects(parked, { code: 'STORE_UNAVAILABLE', message: /The port is held by something else\./ })
  await t.rejects(desk.pending(), { code: 'STORE_UNAVAILABLE', message: /The port is held/ })
  seats.take(seatOf(async () => ({ ticket: pending })))
  t.equal((await desk.ask(ask)).id, 'a')
})

t.test('a long wait is asked in slices until it is settled', async t => {
  const seats = new Seats()
  const replies = [pending, pending, answered]
  const seat = seatOf(async ({ wait_ms: ms = 0 }) => {
    await new Promise(resolve => setTimeout(resolve, ms))
    return { ticket: replies.shift()! }
  })
  seats.take(seat)
  const desk = new PatientDesk(seats, { sliceMs: 30 })
  t.match(await desk.wait('a', { ms: 60_000 }), { status: 'answered', answer: 'yes' })
  t.same(seat.calls.map(call => call.wait_ms), [30, 30, 30])
})

t.test('no slice is longer than twenty seconds, and the last only as long as is left', async t => {
  const seats = new Seats()
  const seat = seatOf(async () => ({ ticket: answered }))
  seats.take(seat)
  const desk = new PatientDesk(seats)
  await desk.wait('a', { ms: 595_000 })
  await desk.wait('a', { ms: 1_500.5 })
  await desk.wait('a', { ms: 0 })
  t.equal(seat.calls[0]!.wait_ms, 20_000)
  t.ok(seat.calls[1]!.wait_ms! <= 1_501 && seat.calls[1]!.wait_ms! > 1_000)
  t.ok(Number.isInteger(seat.calls[1]!.wait_ms))
  t.equal(seat.calls[2]!.wait_ms, 0)
})

t.test('a wait goes on over a daemon that closes and answers early', async t => {
  const seats = new Seats()
  const first = await openDesk()
  const second = await openDesk()
  const desk = new PatientDesk(seats)
  seats.take(localSeat(first))
  const { id } = await first.ask(ask)
  await second.ask(ask, id)
  const waited = desk.wait(id, { ms: 60_000 })
  await eventually(() => first.waiting === 1 || undefined, 'the wait')
  seats.vacate()
  first.close()
  seats.take(localSeat(second))
  await eventually(() => second.waiting === 1 || undefined, 'the wait on the next')
  await second.answer(id, 'go', OWNER)
  t.match(await waited, { status: 'answered', answer: 'go' })
})

t.test('when nothing answers any more, a wait says how the ticket last stood', async t => {
  const seats = new Seats()
  const replies = [{ ticket: pending }]
  seats.take(seatOf(async () => replies.shift() ?? lost()))
  const desk = new PatientDesk(seats, { sliceMs: 1 })
  const start = performance.now()
  t.match(await desk.wait('a', { ms: 200 }), { id: 'a', status: 'pending' })
  t.ok(performance.now() - start < 6_000)
})

t.test('a wait that never heard of its ticket ends with a sentence, a little after its time', async t => {
  const seats = new Seats()
  seats.take(seatOf(lost))
  await t.rejects(new PatientDesk(seats, { patienceMs: 50 }).wait('a', { ms: -3_900 }), { code: 'STORE_UNAVAILABLE', message: /does not answer/ })
})

t.test('an unknown ticket ends a wait at once', async t => {
  const seats = new Seats()
  seats.take(localSeat(await openDesk()))
  await t.rejects(new PatientDesk(seats).wait('none', { ms: 60_000 }), { code: 'TICKET_NOT_FOUND' })
})

t.test('an aborted wait ends at once, wherever it hangs', async t => {
  const seats = new Seats()
  const desk = new PatientDesk(seats)
  const parked = new AbortController()
  const waiting = desk.wait('a', { ms: 60_000, signal: parked.signal })
  parked.abort()
  await t.rejects(waiting, { code: 'STORE_UNAVAILABLE', message: /given up/ })

  const real = await openDesk()
  const { id } = await real.ask(ask)
  seats.take(localSeat(real))
  const given = new AbortController()
  const waited = desk.wait(id, { ms: 60_000, signal: given.signal })
  await eventually(() => real.waiting === 1 || undefined, 'the wait')
  given.abort()
  t.equal((await waited).status, 'pending')
  t.equal(real.waiting, 0)

  // A daemon in another process hears of the end of a wait only by its connection, which brings no ticket any more.
  const far = new AbortController()
  seats.vacate()
  seats.take(seatOf(({ wait_ms: ms }, { signal }) => ms === 0
    ? Promise.resolve({ ticket: pending })
    : new Promise((_resolve, reject) => {
      signal!.addEventListener('abort', () => reject(signal!.reason))
      setImmediate(() => far.abort())
    })))
  t.strictSame(await desk.wait(pending.id, { ms: 60_000, signal: far.signal }), pending)

  const silent = new AbortController()
  seats.vacate()
  let signalled = false
  seats.take(seatOf((_call, { signal }) => new Promise((resolve, reject) => {
    signal!.addEventListener('abort', () => { signalled = true; reject(signal!.reason) })
    silent.abort()
  })))
  await t.rejects(desk.wait('a', { ms: 60_000, signal: silent.signal }), { code: 'STORE_UNAVAILABLE' })
  t.ok(signalled)
})

t.test('a call of the room that got no answer is sent again with the same key', async t => {
  const seats = new Seats()
  const first = seatOf(() => {
    seats.vacate()
    seats.take(second)
    return lost()
  })
  const second = seatOf(async () => ({ room: { id: 1 } }))
  seats.take(first)
  const call = { name: 'post_message', args: { body: 'hello' }, key: 'k1' }
  t.strictSame(await new PatientDesk(seats).room(call), { id: 1 })
  t.match(first.calls, [{ tool: 'room', room_call: call }])
  t.strictSame(second.calls, first.calls)
})

t.test('a call of the room that is never answered says that it is not known, and where to look', async t => {
  const seats = new Seats()
  seats.take(seatOf(lost))
  await t.rejects(new PatientDesk(seats, { patienceMs: 100 }).room({ name: 'post_message', args: {}, key: 'k1' }),
    { code: 'STORE_UNAVAILABLE', message: /Whether this was done is not known: look \(read_messages/ })
})
