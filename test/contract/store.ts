import type { Test } from 'tap'
import { checkNext, EMPTY_HEAD, headAt } from '../../lib/audit'
import type { Decision, TicketStore } from '../../lib/store'
import type { AuditEntry } from '../../schemas/event'
import type { Ticket } from '../../schemas/ticket'
import { answered, at, cancelled, decide, next, START, undone } from '../helpers/decisions'

export interface StoreUnderTest {
  store: TicketStore
  /** Closes the store and opens another on what it kept; undefined where nothing outlives it. */
  reopen?: () => Promise<TicketStore>
}

/** Makes an empty, loaded store on the given clock. What it opens, it closes by itself when the test ends. */
export type MakeStore = (t: Test, options: { now: () => number }) => Promise<StoreUnderTest>

const DAY = 86_400_000
const stale = { code: 'STALE_WRITE' }

/** What every store promises; see the comments of TicketStore, which these tests hold it to. */
export function storeContract (t: Test, make: MakeStore): void {
  const open = async (t: Test, now = () => START) => (await make(t, { now })).store
  const ids = (tickets: Ticket[]) => tickets.map(({ id }) => id)

  t.test('an empty store has nothing, and a head before the first entry', async t => {
    const store = await open(t)
    t.strictSame(store.head(), EMPTY_HEAD)
    t.strictSame(await store.list({}), [])
    t.strictSame(await store.since(0, 10), [])
    t.strictSame(await store.history(undefined, 10), [])
    t.equal(await store.get('nobody'), undefined)
  })

  t.test('a commit gives the entry its place, and the head and every read show it', async t => {
    const store = await open(t)
    const decision = decide('one', { options: ['yes', 'no'], context: 'two\nlines', default_answer: 'no' })
    const entry = await store.commit(decision)
    t.match(entry, { seq: 1, batch: 1, event: 'enqueued', at: at(0), id: 'one', stream: 'agent', actor: 'agent', prev: EMPTY_HEAD.hash })
    t.strictSame(entry.ticket, decision.ticket)
    t.strictSame(store.head(), { seq: 1, hash: entry.hash, at: at(0) })
    t.strictSame(await store.get('one'), decision.ticket)
    t.strictSame(await store.list({}), [decision.ticket])
    t.strictSame(await store.since(0, 10), [entry])
  })

  t.test('entries form one chain, in order, and since reads any part of it', async t => {
    const store = await open(t)
    const first = decide('one')
    await store.commit(first)
    await store.commit(decide('two'))
    await store.commit(answered(first))
    await Promise.all([3, 4, 5].map(n => store.commit(decide(`more ${n}`))))
    const all = await store.since(0, 100)
    t.equal(all.length, 6)
    let head = EMPTY_HEAD
    for (const entry of all) {
      const { hash, ...open } = entry
      const line = `${JSON.stringify(open).slice(0, -1)},"hash":"${hash}"}`
      t.strictSame(checkNext(line, head), { entry })
      head = headAt(entry)
    }
    t.strictSame(store.head(), head)
    t.strictSame(await store.since(2, 2), all.slice(2, 4))
    t.strictSame(await store.since(5, 100), all.slice(5))
    t.strictSame(await store.since(6, 100), [])
    t.strictSame(await store.since(1_000, 100), [])
    t.strictSame(await store.since(0, 0), [])
  })

  t.test('a revision that does not follow is refused, and nothing changes', async t => {
    const store = await open(t)
    const first = decide('one')
    await t.rejects(store.commit(answered(first)), stale, 'revision 2 of a ticket that is not there')
    await store.commit(first)
    const entry = await store.commit(answered(first))
    for (const decision of [first, answered(first, 'no'), decide('one', { rev: 4 }), decide('one', { rev: 0 })]) {
      await t.rejects(store.commit(decision), stale)
    }
    t.strictSame(store.head(), headAt(entry))
    t.equal((await store.get('one'))?.answer, 'yes')
    t.equal((await store.since(0, 10)).length, 2)
  })

  t.test('of two commits that race for a ticket one wins, and the other, refused, reads the outcome', async t => {
    const store = await open(t)
    const first = decide('one')
    await store.commit(first)
    const outcomes = await Promise.all(['yes', 'no', 'later'].map(async answer => {
      try {
        return (await store.commit(answered(first, answer))).ticket.answer
      } catch (err) {
        t.match(err, stale)
        return `refused, reads ${(await store.get('one'))?.answer}`
      }
    }))
    t.strictSame(outcomes, ['yes', 'refused, reads yes', 'refused, reads yes'])
    t.equal(store.head().seq, 2)
  })

  t.test('two commits that race to make one ticket make one', async t => {
    const store = await open(t)
    const outcomes = await Promise.allSettled([store.commit(decide('one')), store.commit(decide('one', { question: 'Other?' }))])
    t.strictSame(outcomes.map(({ status }) => status), ['fulfilled', 'rejected'])
    t.equal((await store.get('one'))?.question, 'Ship it?')
  })

  t.test('commits resolve in the order of their seq', async t => {
    const store = await open(t)
    const order: number[] = []
    const made = await Promise.all(Array.from({ length: 500 }, async (_, i) => {
      const { seq } = await store.commit(decide(`ticket ${String(i).padStart(3, '0')}`))
      order.push(seq)
      return seq
    }))
    t.strictSame(order, Array.from({ length: 500 }, (_, i) => i + 1))
    t.strictSame([...made].sort((a, b) => a - b), order)
    t.equal((await store.list({})).length, 500)
  })

  t.test('what goes in and what comes out are copies', async t => {
    const store = await open(t)
    const decision = decide('one', { options: ['yes', 'no'] })
    const was = structuredClone(decision.ticket)
    const spoil = (ticket: Ticket | undefined) => {
      ticket!.question = 'changed'
      ticket!.options?.push('changed')
    }
    const committed = store.commit(decision)
    spoil(decision.ticket)
    decision.event.actor = 'changed'
    const entry = await committed
    t.equal(entry.actor, 'agent')
    t.strictSame(entry.ticket, was)
    spoil(entry.ticket)
    spoil(await store.get('one'))
    spoil((await store.list({}))[0])
    spoil((await store.since(0, 1))[0]?.ticket)
    store.head().hash = 'changed'
    t.strictSame(await store.get('one'), was)
    t.strictSame(await store.list({}), [was])
    t.strictSame((await store.since(0, 1))[0]?.ticket, was)
    t.strictSame(store.head().hash, entry.hash)
    await store.commit(answered({ ticket: was }))
    spoil((await store.history(undefined, 1))[0]?.ticket)
    t.equal((await store.history(undefined, 1))[0]?.ticket.question, was.question)
  })

  t.test('list is in order of id and filters by status and by when a ticket settled', async t => {
    const store = await open(t, () => START + 10_000)
    const tickets = Object.fromEntries(['d', 'b', 'a', 'c'].map(id => [id, decide(id)]))
    for (const decision of Object.values(tickets)) await store.commit(decision)
    await store.commit(answered(tickets['a']!, 'yes', 1_000))
    await store.commit(cancelled(tickets['b']!, 2_000))
    await store.commit(next(tickets['c']!, 'expired', { status: 'expired' }, 3_000))
    t.strictSame(ids(await store.list({})), ['a', 'b', 'c', 'd'])
    t.strictSame(ids(await store.list({ status: 'pending' })), ['d'])
    t.strictSame(ids(await store.list({ status: 'cancelled' })), ['b'])
    t.strictSame(ids(await store.list({ since: at(2_000) })), ['b', 'c', 'd'], 'to the millisecond; pending ones always stay')
    t.strictSame(ids(await store.list({ since: at(2_001) })), ['c', 'd'])
    t.strictSame(ids(await store.list({ status: 'answered', since: at(2_000) })), [])
    t.strictSame(ids(await store.list({ status: 'pending', since: at(9_000) })), ['d'])
  })

  t.test('list lets go of what settled more than a day ago; get and history never do', async t => {
    let now = START
    const store = await open(t, () => now)
    const [old, open1] = [decide('old'), decide('open')]
    await store.commit(old)
    await store.commit(open1)
    await store.commit(answered(old, 'yes', 5))
    now = START + 5 + DAY
    t.strictSame(ids(await store.list({})), ['old', 'open'])
    now++
    t.strictSame(ids(await store.list({})), ['open'])
    t.strictSame(ids(await store.list({ since: at(0) })), ['open'])
    t.equal((await store.get('old'))?.answer, 'yes')
    t.strictSame((await store.history(undefined, 10)).map(({ ticket }) => ticket.id), ['old'])
    now = START - DAY
    t.strictSame(ids(await store.list({})), ['old', 'open'], 'a clock before the last entry counts as that entry')
  })

  t.test('history pages through settled tickets, newest settling first, without the undone ones', async t => {
    const store = await open(t)
    const all = ['a', 'b', 'c', 'd', 'e'].map(id => decide(id))
    for (const decision of all) await store.commit(decision)
    const entries: AuditEntry[] = []
    const put = async (decision: Decision) => entries.push(await store.commit(decision))
    await put(answered(all[2]!))
    await put(cancelled(all[0]!))
    const taken = answered(all[1]!)
    await put(taken)
    await put(undone(taken))
    await put(answered(all[3]!))
    const again = answered(undone(taken), 'second thought')
    const page = await store.history(undefined, 2)
    t.strictSame(page.map(({ seq, ticket }) => [seq, ticket.id]), [[10, 'd'], [7, 'a']])
    t.strictSame((await store.history(page[1]!.seq, 2)).map(({ seq, ticket }) => [seq, ticket.id]), [[6, 'c']])
    t.strictSame(await store.history(6, 2), [])
    t.strictSame(await store.history(undefined, 0), [])
    await put(again)
    t.strictSame((await store.history(undefined, 10)).map(({ seq, ticket }) => [seq, ticket.id, ticket.answer]),
      [[11, 'b', 'second thought'], [10, 'd', 'yes'], [7, 'a', undefined], [6, 'c', 'yes']])
  })

  t.test('text of every kind comes back as it went in', async t => {
    const store = await open(t)
    const context = 'quote " backslash \\ tab \t null \u0000 line \u2028 separators \u2029 emoji 😀 half \ud800 rtl \u202e\r\n,"hash":"x"}'
    await store.commit(decide('one', { context, stream: 'Ünïcødé' }))
    t.equal((await store.get('one'))?.context, context)
    t.equal((await store.since(0, 1))[0]?.ticket.context, context)
    await store.commit(decide('two', { context: '\u0001'.repeat(65_536) }))
    t.equal((await store.since(1, 1))[0]?.ticket.context?.length, 65_536)
  })

  t.test('close waits for the commits under way, refuses later ones, and may be called twice', async t => {
    const store = await open(t)
    const before = [decide('one'), decide('one'), decide('two')].map(decision => store.commit(decision))
    let last: number | undefined
    const outcomes = Promise.allSettled(before).then(outcomes => {
      last = store.head().seq
      return outcomes
    })
    await Promise.all([store.close(), store.close()])
    await t.rejects(store.commit(decide('three')), { code: 'STORE_UNAVAILABLE' })
    t.strictSame((await outcomes).map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
    t.equal(last, 2)
  })

  t.test('everything is there again after a close and a load', async t => {
    let now = START
    const { store, reopen } = await make(t, { now: () => now })
    if (reopen === undefined) return t.pass('this store keeps nothing')
    const [old, taken, open1, asked] = [decide('old'), decide('taken'), decide('open'), decide('zebra', { options: ['a', 'b'] })]
    const back = undone(answered(taken, 'no', 5), 10)
    for (const decision of [old, taken, open1, answered(old, 'yes', 5), answered(taken, 'no', 5), back]) await store.commit(decision)
    await store.commit({ ...asked, event: { ...asked.event, at: at(2 * DAY) } })
    now = START + 2 * DAY
    const all = async (store: TicketStore) =>
      ({ head: store.head(), list: await store.list({}), since: await store.since(0, 100), history: await store.history(undefined, 10) })
    const was = await all(store)
    t.strictSame(ids(was.list), ['open', 'taken', 'zebra'])
    now = START
    const again = await reopen()
    t.strictSame(await all(again), was)
    t.strictSame(await again.get('old'), answered(old, 'yes', 5).ticket)
    await t.rejects(again.commit(answered(old)), stale)
    await t.rejects(again.commit(decide('old')), stale)
    t.match(await again.commit(answered(back)), { seq: 8, prev: was.head.hash, ticket: { rev: 4 } })
  })
}
