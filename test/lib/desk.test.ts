import t, { type Test } from 'tap'
import { Desk, type DeskOptions } from '../../lib/desk'
import { ReadyroomError } from '../../lib/errors'
import { MemoryTicketStore } from '../../lib/memory-store'
import { OWNER } from '../../lib/principal'
import type { Decision } from '../../lib/store'
import type { AuditEntry } from '../../schemas/event'
import { Clock } from '../helpers/build'
import { at, decide, START } from '../helpers/decisions'

/** A store whose commits can be held back, or fail. */
class TestStore extends MemoryTicketStore {
  failure: Error | undefined
  gate: Promise<void> | undefined
  commits = 0

  override async commit (decision: Decision): Promise<AuditEntry> {
    this.commits++
    await this.gate
    if (this.failure) throw this.failure
    return super.commit(decision)
  }
}

const FULL = new ReadyroomError('STORE_UNAVAILABLE', 'The disk is full.')

type OpenOptions = DeskOptions & { store?: TestStore, clock?: Clock }

async function open (t: Test, options: OpenOptions = {}): Promise<{ desk: Desk, store: TestStore, clock: Clock }> {
  const { clock = new Clock(), store = new TestStore({ now: clock.now }) } = options
  const desk = await new Desk(store, { ...options, now: clock.now }).open()
  t.teardown(() => desk.close())
  return { desk, store, clock }
}

const question = { stream: 'agent', question: 'Ship it?' }

t.test('asking makes a ticket, and it is there', async t => {
  const { desk } = await open(t)
  const ticket = await desk.ask(question)
  t.strictSame(await desk.get(ticket.id), ticket)
  t.strictSame((await desk.pending()).tickets, [ticket])
  t.equal(desk.pendingCount, 1)
  t.equal(desk.head().seq, 1)
})

t.test('a call that is sent again makes one ticket, one after the other or at once', async t => {
  const { desk, store } = await open(t)
  const first = await desk.ask(question, 'known')
  t.equal(first.id, 'known')
  t.strictSame(await desk.ask({ ...question, question: 'other' }, 'known'), first)
  const many = await Promise.all(Array.from({ length: 10 }, () => desk.ask(question, 'twice')))
  t.ok(many.every(({ id, rev }) => id === 'twice' && rev === 1))
  t.equal(desk.head().seq, 2)
  t.equal(desk.pendingCount, 2)
  t.equal((await store.list({})).length, 2)
})

t.test('a call sent again gets the ticket as it now is', async t => {
  const { desk, clock } = await open(t)
  await desk.ask({ ...question, timeout_seconds: 1, default_answer: 'no' }, 'known')
  clock.by(1_000)
  t.match(await desk.ask(question, 'known'), { status: 'expired', answer: 'no' })
  t.equal(desk.pendingCount, 0)
})

t.test('of two answers at once one wins; the other is told which', async t => {
  const { desk } = await open(t)
  const { id } = await desk.ask(question)
  const [first, second] = await Promise.allSettled([desk.answer(id, 'yes', OWNER), desk.answer(id, 'no', OWNER)])
  t.match(first, { status: 'fulfilled', value: { status: 'answered', answer: 'yes' } })
  t.match(second, { status: 'rejected', reason: { code: 'TICKET_SETTLED', message: /already answered: "yes"/, ticket: { answer: 'yes' } } })
  t.equal(desk.head().seq, 2)
})

t.test('an answer, a cancel and an undo that race leave one order of things', async t => {
  for (let round = 0; round < 20; round++) {
    const { desk } = await open(t)
    const { id } = await desk.ask(question)
    await Promise.allSettled([desk.answer(id, 'yes', OWNER), desk.cancel(id), desk.answer(id, 'no', OWNER), desk.undo(id, OWNER), desk.cancel(id)])
    const entries = await desk.since(0, 99)
    t.strictSame(entries.map(({ ticket }) => ticket.rev), entries.map((_, index) => index + 1))
    t.strictSame(await desk.get(id), entries.at(-1)!.ticket)
  }
})

t.test('a write that was overtaken is decided again; after three it is told', async t => {
  const { desk, store } = await open(t)
  const { id } = await desk.ask(question)
  const stale = new ReadyroomError('STALE_WRITE', 'Overtaken.')
  let left = 2
  const commit = store.commit.bind(store)
  store.commit = async decision => left-- > 0 ? Promise.reject(stale) : commit(decision)
  t.match(await desk.answer(id, 'yes', OWNER), { status: 'answered' })
  left = Infinity
  await t.rejects(desk.undo(id, OWNER), { code: 'STALE_WRITE' })
})

t.test('who answered is the label that they gave, or the principal', async t => {
  const { desk } = await open(t)
  const [a, b, c] = [await desk.ask(question), await desk.ask(question), await desk.ask(question)]
  await desk.answer(a.id, 'yes', OWNER, 'Lea')
  await desk.answer(b.id, 'yes', OWNER)
  await desk.answer(c.id, 'yes', OWNER, '')
  await desk.undo(a.id, OWNER)
  t.strictSame((await desk.since(3, 9)).map(({ event, actor }) => [event, actor]), [['answered', 'Lea'], ['answered', 'human'], ['answered', 'human'], ['undone', 'human']])
  t.equal((await desk.get(b.id)).answered_by, 'human')
})

t.test('a ticket that is not there is told by its id, shortened', async t => {
  const { desk } = await open(t)
  for (const act of [(id: string) => desk.get(id), (id: string) => desk.answer(id, 'yes', OWNER), (id: string) => desk.undo(id, OWNER), (id: string) => desk.cancel(id), (id: string) => desk.wait(id, { ms: 0 })]) {
    await t.rejects(act('none'), { code: 'TICKET_NOT_FOUND', message: /"none"/ })
    await t.rejects(act('x'.repeat(5_000)), { code: 'TICKET_NOT_FOUND', message: /^.{0,200}$/s })
  }
})

t.test('a wait ends with the answer, for everybody who waits', async t => {
  const { desk } = await open(t)
  const { id } = await desk.ask(question)
  const waits = Promise.all(Array.from({ length: 100 }, () => desk.wait(id, { ms: 60_000 })))
  t.equal(desk.waiting, 100)
  const answered = await desk.answer(id, 'yes', OWNER)
  t.strictSame(await waits, Array(100).fill(answered))
  t.equal(desk.waiting, 0)
})

t.test('a wait for what is settled, however it settled, ends at once', async t => {
  const { desk, clock } = await open(t)
  const ids = await Promise.all([1, 60, 60].map(async timeout => (await desk.ask({ ...question, timeout_seconds: timeout })).id))
  await desk.cancel(ids[1]!)
  await desk.answer(ids[2]!, 'yes', OWNER)
  clock.by(1_000)
  t.strictSame(await Promise.all(ids.map(async id => (await desk.wait(id, { ms: 60_000 })).status)), ['expired', 'cancelled', 'answered'])
})

t.test('a wait whose time is over answers with the ticket as it is', async t => {
  const { desk } = await open(t)
  const { id } = await desk.ask(question)
  for (const ms of [0, 5]) t.match(await desk.wait(id, { ms }), { id, status: 'pending' })
  t.equal(desk.waiting, 0)
})

t.test('a wait ends when its ticket expires, with the default', async t => {
  const started = Date.now()
  const store = new TestStore()
  const desk = await new Desk(store).open()
  const { id } = await desk.ask({ ...question, timeout_seconds: 1, default_answer: 'no' })
  const ticket = await desk.wait(id, { ms: 60_000 })
  t.match(ticket, { status: 'expired', answer: 'no', answered_by: 'default' })
  t.ok(Date.now() - started < 5_000, 'at its time, not at the end of the wait')
  t.equal(desk.waiting, 0)
})

t.test('an aborted wait is let go', async t => {
  const { desk } = await open(t)
  const { id } = await desk.ask(question)
  const controller = new AbortController()
  const wait = desk.wait(id, { ms: 60_000, signal: controller.signal })
  t.equal(desk.waiting, 1)
  controller.abort()
  t.match(await wait, { status: 'pending' })
  t.equal(desk.waiting, 0)
  t.match(await desk.wait(id, { ms: 60_000, signal: AbortSignal.abort() }), { status: 'pending' })
})

t.test('closing answers every wait with the ticket as it is, and later waits at once', async t => {
  const { desk } = await open(t)
  const { id } = await desk.ask(question)
  const waits = Promise.all([desk.wait(id, { ms: 60_000 }), desk.wait(id, { ms: 60_000 })])
  desk.close()
  t.match(await waits, [{ status: 'pending' }, { status: 'pending' }])
  t.match(await desk.wait(id, { ms: 60_000 }), { status: 'pending' })
  t.equal(desk.waiting, 0)
})

t.test('nothing is told, or woken, before it is durable', async t => {
  const { desk, store } = await open(t)
  const { id } = await desk.ask(question)
  const heard: number[] = []
  const stop = desk.subscribe(({ seq }) => { heard.push(seq) })
  const gate = Promise.withResolvers<void>()
  store.gate = gate.promise
  const answer = desk.answer(id, 'yes', OWNER)
  const wait = desk.wait(id, { ms: 60_000 })
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame(heard, [])
  t.equal(desk.waiting, 1)
  gate.resolve()
  await answer
  t.match(await wait, { answer: 'yes' })
  t.strictSame(heard, [2])
  stop()
  await desk.undo(id, OWNER)
  t.strictSame(heard, [2], 'who stopped hears nothing more')
})

t.test('everybody hears every commit, in the order of the audit log', async t => {
  const { desk } = await open(t)
  const heard: [number[], number[]] = [[], []]
  desk.subscribe(({ seq }) => { heard[0].push(seq) })
  desk.subscribe(({ seq }) => { heard[1].push(seq) })
  await Promise.all(Array.from({ length: 100 }, (_, i) => desk.ask({ ...question, stream: `s${i}` })))
  const all = Array.from({ length: 100 }, (_, i) => i + 1)
  t.strictSame(heard, [all, all])
})

t.test('what could not be made durable did not happen', async t => {
  const { desk, store } = await open(t)
  const { id } = await desk.ask(question)
  const heard: AuditEntry[] = []
  desk.subscribe(entry => { heard.push(entry) })
  store.failure = FULL
  await t.rejects(desk.ask(question, 'lost'), { code: 'STORE_UNAVAILABLE' })
  await t.rejects(desk.answer(id, 'yes', OWNER), { code: 'STORE_UNAVAILABLE' })
  await t.rejects(desk.cancel(id), { code: 'STORE_UNAVAILABLE' })
  t.equal(desk.pendingCount, 1, 'its place is free again')
  t.match(await desk.get(id), { status: 'pending', rev: 1 })
  t.strictSame(heard, [])
  store.failure = undefined
  t.match(await desk.answer(id, 'yes', OWNER), { rev: 2 })
  t.equal((await desk.ask(question, 'lost')).id, 'lost')
})

t.test('a due ticket that cannot be saved as expired is still read; it expires when the store is back', async t => {
  const warned: string[] = []
  const { desk, store, clock } = await open(t, { log: { warn: (_details, message) => { warned.push(message) } } })
  const { id } = await desk.ask({ ...question, timeout_seconds: 1, default_answer: 'no' })
  clock.by(1_000)
  store.failure = FULL
  t.match(await desk.get(id), { status: 'pending' })
  t.match(await desk.list(), { tickets: [{ id, status: 'pending' }] })
  t.match(await desk.pending(), { tickets: [{ id }] })
  t.ok(warned.length > 0)
  await t.rejects(desk.answer(id, 'yes', OWNER), { code: 'STORE_UNAVAILABLE' }, 'its time has passed: no answer slips in')
  const tries = store.commits
  await desk.list()
  await desk.list()
  t.equal(store.commits, tries, 'and not every read tries again')
  store.failure = undefined
  clock.by(1_000)
  t.match(await desk.list(), { tickets: [{ id, status: 'expired', answer: 'no', answered_at: at(1_000) }] })
})

t.test('many readers that meet a due ticket settle it once', async t => {
  const { desk, store, clock } = await open(t)
  const ids = await Promise.all(Array.from({ length: 20 }, async () => (await desk.ask({ ...question, timeout_seconds: 1 })).id))
  clock.by(5_000)
  await Promise.all([...ids.map(id => desk.get(id)), desk.list(), desk.pending(), desk.list(), ...ids.map(id => desk.wait(id, { ms: 0 }))])
  t.equal(desk.head().seq, 40)
  t.equal(store.commits, 40, 'one write a ticket, whoever met it first')
  t.equal(desk.pendingCount, 0)
})

t.test('an answer that comes at the expiry loses; one before it wins', async t => {
  for (const [ms, code] of [[999, undefined], [1_000, 'TICKET_SETTLED'], [5_000, 'TICKET_SETTLED']] as const) {
    const { desk, clock } = await open(t)
    const { id } = await desk.ask({ ...question, timeout_seconds: 1 })
    clock.by(ms)
    if (code === undefined) t.match(await desk.answer(id, 'yes', OWNER), { status: 'answered' })
    else await t.rejects(desk.answer(id, 'yes', OWNER), { code, ticket: { status: 'expired' } })
  }
})

t.test('the clock never goes back behind the audit log', async t => {
  const { desk, clock } = await open(t)
  const { id } = await desk.ask({ ...question, timeout_seconds: 60, default_answer: 'no' })
  clock.by(30_000)
  await desk.answer(id, 'yes', OWNER)
  clock.by(-86_400_000)
  t.equal(desk.now(), START + 30_000)
  t.equal((await desk.undo(id, OWNER)).status, 'pending')
  t.equal((await desk.since(2, 1))[0]!.at, at(30_000), 'the log stays in order')
  const later = await desk.ask(question)
  t.equal(later.created_at, at(30_000))
})

t.test('a board that boots in the past goes on where its log ends', async t => {
  const { store, clock } = await open(t)
  await store.commit(decide('a', {}, 3_600_000))
  clock.ms = 0
  const desk = await new Desk(store, { now: clock.now }).open()
  t.equal(desk.now(), START + 3_600_000)
  t.match(await desk.list(), { now: at(3_600_000), tickets: [{ id: 'a' }] })
})

t.test('a clock that jumps ahead expires what is due, and coming back revives nothing', async t => {
  const { desk, clock } = await open(t)
  const { id } = await desk.ask({ ...question, timeout_seconds: 60, default_answer: 'no' })
  clock.by(86_400_000)
  t.match(await desk.get(id), { status: 'expired' })
  clock.by(-86_400_000)
  t.match(await desk.get(id), { status: 'expired', answer: 'no' })
  await t.rejects(desk.undo(id, OWNER), { code: 'TICKET_SETTLED' })
})

t.test('a clock that was ahead while nothing was decided comes back', async t => {
  const { desk, clock } = await open(t)
  clock.by(86_400_000)
  t.match(await desk.list(), { now: at(86_400_000), tickets: [] })
  clock.by(-86_400_000)
  t.equal(desk.now(), START)
  t.match(await desk.ask({ ...question, timeout_seconds: 60 }), { created_at: at(0), expires_at: at(60_000) })
})

t.test('a decision on its way into the log holds the clock already', async t => {
  const { desk, store, clock } = await open(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  store.gate = promise
  clock.by(60_000)
  const first = desk.ask(question)
  clock.by(-30_000)
  const second = desk.ask(question)
  resolve()
  t.strictSame([(await first).created_at, (await second).created_at], [at(60_000), at(60_000)])
})

t.test('a ticket has the time of its id, however fast the clock goes on', async t => {
  let ms = START
  const desk = await new Desk(new MemoryTicketStore(), { now: () => ms++ }).open()
  t.teardown(() => desk.close())
  const { id, created_at: createdAt } = await desk.ask(question)
  t.equal(parseInt(id.replaceAll('-', '').slice(0, 12), 16), Date.parse(createdAt))
})

t.test('an undo window is counted from the answer, whatever the clock did between', async t => {
  const { desk, clock } = await open(t)
  const { id } = await desk.ask(question)
  await desk.answer(id, 'yes', OWNER)
  clock.by(-600_000)
  await desk.undo(id, OWNER)
  await desk.answer(id, 'no', OWNER)
  clock.ms = START + 300_001
  await t.rejects(desk.undo(id, OWNER), { code: 'UNDO_WINDOW_PASSED' })
})

t.test('asking at once cannot slip past a limit together', async t => {
  const { desk } = await open(t)
  const asked = await Promise.allSettled(Array.from({ length: 600 }, () => desk.ask(question)))
  t.equal(asked.filter(({ status }) => status === 'fulfilled').length, 500)
  t.ok(asked.every(one => one.status === 'fulfilled' || (one.reason as ReadyroomError).code === 'QUEUE_FULL'))
  t.equal(desk.pendingCount, 500)
  await desk.ask({ ...question, stream: 'other' })
})

t.test('a full queue takes new tickets when old ones have expired', async t => {
  const { desk, clock } = await open(t)
  for (let i = 0; i < 500; i++) await desk.ask({ ...question, timeout_seconds: 1 })
  await t.rejects(desk.ask(question), { code: 'QUEUE_FULL' })
  clock.by(1_000)
  t.match(await desk.ask(question), { status: 'pending', created_at: at(1_000) })
  t.equal(desk.pendingCount, 1)
})

t.test('what is settled gives its place back, and an undo takes it again', async t => {
  const { desk } = await open(t)
  const tickets = []
  for (let i = 0; i < 500; i++) tickets.push(await desk.ask(question))
  await desk.answer(tickets[0]!.id, 'yes', OWNER)
  await desk.ask(question)
  await desk.undo(tickets[0]!.id, OWNER)
  t.equal(desk.pendingCount, 501, 'a person is never refused')
  await t.rejects(desk.ask(question), { code: 'QUEUE_FULL' })
})

t.test('what was pending before the desk opened counts', async t => {
  const store = new TestStore()
  for (let i = 0; i < 500; i++) await store.commit(decide(`t${i}`))
  const { desk } = await open(t, { store })
  t.equal(desk.pendingCount, 500)
  await t.rejects(desk.ask(question), { code: 'QUEUE_FULL' })
})

t.test('at most 200 pending are listed for an agent, oldest first, long contexts cut', async t => {
  const { desk, clock } = await open(t)
  for (let i = 0; i < 203; i++) {
    await desk.ask({ ...question, stream: `s${i % 3}`, question: `q${i}`, context: 'x'.repeat(i === 0 ? 1_001 : 1_000) })
    clock.by(1)
  }
  const { tickets, omitted } = await desk.pending()
  t.equal(tickets.length, 200)
  t.equal(omitted, 3)
  t.strictSame(tickets.map(ticket => ticket.question), Array.from({ length: 200 }, (_, i) => `q${i}`))
  t.match(tickets[0], { context: 'x'.repeat(1_000), context_truncated: true })
  t.notOk('context_truncated' in tickets[1]!)
  await desk.cancel(tickets[0]!.id)
  await desk.cancel(tickets[1]!.id)
  await desk.cancel(tickets[2]!.id)
  t.notOk('omitted' in await desk.pending())
})

t.test('the list for an agent fits into what a client reads in one line, whatever the tickets hold', async t => {
  const { desk } = await open(t)
  // What JSON makes the longest: half a surrogate pair takes six bytes, a quote two, then four.
  for (const [stream, char] of [['half', '\uD800'], ['quote', '"'], ['wide', '\u{1F600}']] as const) {
    const longest = {
      stream,
      question: char.repeat(2_000),
      options: [...'abcde'].map(n => n + char.repeat(199)),
      context: char.repeat(65_536),
      default_answer: char.repeat(2_000)
    }
    const ids: string[] = []
    for (let i = 0; i < 200; i++) ids.push((await desk.ask(longest)).id)
    const list = await desk.pending()
    const line = JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(list) }], structuredContent: list })
    t.ok(Buffer.byteLength(line) < 10 * 1_024 * 1_024 - 1_000, `${stream}: ${Buffer.byteLength(line)}`)
    t.ok(list.tickets.length >= 50, `${stream}: ${list.tickets.length}`)
    t.strictSame(list.tickets.map(({ id }) => id), ids.slice(0, list.tickets.length), 'the oldest')
    t.equal(list.omitted ?? 0, 200 - list.tickets.length, 'the rest is counted')
    for (const id of ids) await desk.cancel(id)
  }
})

t.test('history goes from page to page and says where it ends', async t => {
  const { desk } = await open(t)
  t.strictSame(await desk.history(undefined, 2), { tickets: [] })
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    const { id } = await desk.ask({ ...question, context: 'x'.repeat(4_097) })
    await desk.cancel(id)
    ids.unshift(id)
  }
  const first = await desk.history(undefined, 3)
  t.strictSame(first.tickets.map(({ id }) => id), ids.slice(0, 3))
  t.match(first.tickets[0], { context_truncated: true })
  const second = await desk.history(first.next, 3)
  t.strictSame([second.tickets.map(({ id }) => id), second.next], [ids.slice(3), undefined])
})

t.test('what the desk hands out is nobody else\'s to change', async t => {
  const { desk } = await open(t)
  const ticket = await desk.ask({ ...question, options: ['a', 'b'] })
  ticket.options!.push('c')
  ticket.status = 'cancelled'
  t.match(await desk.get(ticket.id), { status: 'pending', options: ['a', 'b'] })
  t.strictSame((await desk.get(ticket.id)).options, ['a', 'b'])
})
