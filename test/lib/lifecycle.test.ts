import fc from 'fast-check'
import t from 'tap'
import { validate as isUuid, version as uuidVersion } from 'uuid'
import * as lifecycle from '../../lib/lifecycle'
import { parse } from '../../lib/validate'
import { TicketSchema, type Ticket } from '../../schemas/ticket'
import { at, START } from '../helpers/decisions'

const { readAsk, enqueue, answer, cancel, expire, undo, isDue } = lifecycle

const long = (length: number): string => '\u{1F600}'.repeat(length)
const ticketOf = (input: Partial<lifecycle.EnqueueInput> = {}, ms = 0): Ticket =>
  enqueue({ stream: 'agent', question: 'Ship it?', ...input }, 'id', START + ms).ticket
const answered = (input: Partial<lifecycle.EnqueueInput> = {}, ms = 0): Ticket => answer(ticketOf(input), 'yes', 'human', START + ms).ticket

t.test('an id is a UUIDv7: it sorts by time and no two are equal', async t => {
  const ids = Array.from({ length: 1_000 }, (_, i) => lifecycle.mintId(START + i * 10))
  t.ok(ids.every(id => isUuid(id) && uuidVersion(id) === 7))
  t.strictSame([...ids].sort(), ids)
  const atOnce = Array.from({ length: 1_000 }, () => lifecycle.mintId(START))
  t.equal(new Set(atOnce).size, 1_000)
  t.strictSame([...atOnce].sort(), atOnce, 'within one millisecond too')
})

t.test('a ticket begins as what was asked', async t => {
  const { ticket, event } = enqueue({ stream: 'agent', question: 'Ship it?' }, 'id', START)
  t.strictSame(ticket, { id: 'id', stream: 'agent', question: 'Ship it?', urgency: 'normal', status: 'pending', created_at: at(), expires_at: at(1_800_000), rev: 1 })
  t.strictSame(event, { event: 'enqueued', at: at(), actor: 'agent' })
  const options = ['a', 'b']
  const whole = ticketOf({ options, context: 'c', default_answer: 'd', timeout_seconds: 1.5, urgency: 'low' })
  t.match(whole, { options: ['a', 'b'], context: 'c', default_answer: 'd', urgency: 'low', expires_at: at(1_500) })
  options.push('c')
  t.strictSame(whole.options, ['a', 'b'], 'and is not tied to what was given')
})

t.test('every field is read at its limit and refused past it', async t => {
  const at: Array<[string, unknown]> = [
    ['question', 'q'], ['question', long(2_000)], ['options', ['a', 'b']], ['options', ['a', 'b', 'c', 'd', 'e']], ['options', ['a', long(200)]], ['options', ['a', ` ${long(200)}\n`]],
    ['context', long(65_536)], ['default_answer', long(2_000)], ['timeout_seconds', 1], ['timeout_seconds', 86_400], ['timeout_seconds', 1.25],
    ['urgency', 'low'], ['urgency', 'normal'], ['urgency', 'blocking'], ['stream', 's'], ['stream', long(100)]
  ]
  for (const [name, value] of at) t.doesNotThrow(() => readAsk({ question: 'q', [name]: value }), `${name} ${JSON.stringify(value).slice(0, 30)}`)
  const past: Array<[string, unknown, RegExp]> = [
    ['question', '', /question must have at least 1/], ['question', ' \n\t', /question must say what/], ['question', '\u200B\u2060', /question must say what/], ['question', long(2_001), /question may have at most 2,000 characters; got 2,001/],
    ['options', [], /at least 2 entries; got a list of 0/], ['options', ['a'], /at least 2 entries/], ['options', ['a', 'b', 'c', 'd', 'e', 'f'], /at most 5 entries; got a list of 6/],
    ['default_answer', ' \n', /default_answer must say something/],
    ['options', ['a', long(201)], /options\[1\] may have at most 200 characters; got 201/], ['options', ['a', '  '], /options\[1\] must have at least 1 character/], ['options', ['a', '\u200B'], /no blank entry/],
    ['context', long(65_537), /context may have at most 65,536 characters; got 65,537/], ['default_answer', long(2_001), /default_answer may have at most 2,000/],
    ['timeout_seconds', 0.999, /at least 1; got 0.999/], ['timeout_seconds', 0, /at least 1/], ['timeout_seconds', -5, /at least 1/], ['timeout_seconds', 86_400.001, /at most 86,400/],
    ['urgency', 'high', /one of "low", "normal", "blocking"/], ['urgency', '', /one of/], ['stream', '', /stream must have at least 1/], ['stream', long(101), /stream may have at most 100 characters; got 101/],
    ['stream', '   ', /stream must name the agent/], ['stream', 'a\nb', /no control characters/], ['stream', 'a\u0085', /no control characters/], ['stream', '\u200F', /stream must name/]
  ]
  for (const [name, value, says] of past) t.throws(() => readAsk({ question: 'q', [name]: value }), { code: 'BAD_REQUEST', message: says }, `${name} ${JSON.stringify(value).slice(0, 30)}`)
})

t.test('what is of another type is refused, and what is unknown too', async t => {
  for (const name of ['question', 'context', 'default_answer', 'urgency', 'stream']) {
    for (const value of [5, true, null, {}, ['a']]) t.throws(() => readAsk({ question: 'q', [name]: value }), { code: 'BAD_REQUEST', message: new RegExp(name) }, `${name} ${JSON.stringify(value)}`)
  }
  for (const value of [null, '60', true, {}, NaN, Infinity]) t.throws(() => readAsk({ question: 'q', timeout_seconds: value }), { code: 'BAD_REQUEST' }, `timeout ${String(value)}`)
  for (const value of [5, true, null, {}, ['a', 5], ['a', null]]) t.throws(() => readAsk({ question: 'q', options: value }), { code: 'BAD_REQUEST' }, `options ${JSON.stringify(value)}`)
  for (const value of [undefined, null, 5, 'q', true, ['q']]) t.throws(() => readAsk(value), { code: 'BAD_REQUEST' }, JSON.stringify(value))
  t.throws(() => readAsk({ question: 'q', wait: true }), { code: 'BAD_REQUEST', message: /unknown field "wait"/ })
  t.throws(() => readAsk(JSON.parse('{"question":"q","__proto__":{"options":["a","b"]}}')), { code: 'BAD_REQUEST' })
})

t.test('a list that arrives as its JSON text is read; an empty text is none; any other is refused', async t => {
  t.strictSame(readAsk({ question: 'q', options: '["yes","no"]' }).options, ['yes', 'no'])
  t.strictSame(readAsk({ question: 'q', options: ' [" yes ", "no"] ' }).options, ['yes', 'no'])
  t.notOk('options' in readAsk({ question: 'q', options: '' }))
  t.notOk('options' in readAsk({ question: 'q', options: undefined }))
  for (const options of ['yes', '["yes"', '{"a":1}', '"yes"', 'null', '5', '["yes"]', '[1,2]', '["a","a"]', '[["a","b"]]']) {
    t.throws(() => readAsk({ question: 'q', options }), { code: 'BAD_REQUEST', message: /options/ }, options)
  }
})

t.test('options are trimmed, and no two may read the same', async t => {
  t.strictSame(readAsk({ question: 'q', options: [' Yes\n', '\tNo '] }).options, ['Yes', 'No'])
  for (const pair of [['yes', 'yes'], ['yes', ' yes '], ['Yes', 'yES'], ['Straße', 'STRASSE'], ['é', 'e\u0301'], ['ÅNGSTRÖM', '\u212Bngström'], ['\u03C3', '\u03C2']]) {
    t.throws(() => readAsk({ question: 'q', options: pair }), { code: 'BAD_REQUEST', message: /options must differ/ }, JSON.stringify(pair))
  }
  t.ok(readAsk({ question: 'q', options: ['yes', 'yes!', 'no', 'nо', 'n o'] }))
})

t.test('empty texts are none, and what was given is not changed', async t => {
  const given = { question: 'q', context: '', default_answer: '', options: [' a ', 'b'] }
  t.strictSame(readAsk(given), { question: 'q', options: ['a', 'b'] })
  t.strictSame(given, { question: 'q', context: '', default_answer: '', options: [' a ', 'b'] })
})

t.test('whatever is sent, a ticket comes of it that fits its schema, or one BAD_REQUEST', async t => {
  const anything = fc.record({
    question: fc.oneof({ weight: 9, arbitrary: fc.string({ unit: 'binary', minLength: 1 }) }, fc.anything()),
    options: fc.oneof({ weight: 9, arbitrary: fc.array(fc.string(), { minLength: 2, maxLength: 6 }) }, fc.string(), fc.anything()),
    context: fc.oneof({ weight: 9, arbitrary: fc.string({ unit: 'binary' }) }, fc.anything()),
    default_answer: fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.anything()),
    timeout_seconds: fc.oneof({ weight: 9, arbitrary: fc.double({ min: 0, max: 100_000 }) }, fc.anything()),
    urgency: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('low', 'normal', 'blocking') }, fc.anything()),
    stream: fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.anything())
  }, { requiredKeys: [] })
  let made = 0
  fc.assert(fc.property(anything, args => {
    try {
      const input = readAsk(args)
      parse(TicketSchema, enqueue({ ...input, stream: input.stream ?? 'agent' }, 'id', START).ticket, 'ticket')
      made++
      return true
    } catch (err) {
      return (err as { code?: string }).code === 'BAD_REQUEST'
    }
  }), { numRuns: 2_000 })
  t.ok(made > 0, `${made} of 2,000 were tickets`)
})

t.test('an answer settles a pending ticket, as it was typed', async t => {
  const before = ticketOf()
  const { ticket, event } = answer(before, ' yes\n', 'Lea', START + 5)
  t.strictSame(ticket, { ...before, status: 'answered', answer: ' yes\n', answered_by: 'human', answered_at: at(5), rev: 2 })
  t.strictSame(event, { event: 'answered', at: at(5), actor: 'Lea' })
  t.equal(before.status, 'pending', 'the ticket that was given is not changed')
  for (const text of ['', ' ', '\n\t', '\u200B']) t.throws(() => answer(before, text, 'human', START), { code: 'BAD_REQUEST', message: /answer must say something/ })
})

t.test('a settled ticket takes no answer, and says how it was settled', async t => {
  const table: Array<[Ticket, RegExp]> = [
    [answered(), /already answered: "yes", at 2026-03-01T12:00:00.000Z/],
    [cancel(ticketOf(), START + 7)!.ticket, /was cancelled at 2026-03-01T12:00:00.007Z/],
    [expire(ticketOf({ timeout_seconds: 1 }), START + 1_000)!.ticket, /expired at 2026-03-01T12:00:01.000Z without an answer/],
    [expire(ticketOf({ timeout_seconds: 1, default_answer: 'no' }), START + 9_000)!.ticket, /expired at 2026-03-01T12:00:01.000Z, and its default answer "no" was applied/]
  ]
  for (const [ticket, says] of table) t.throws(() => answer(ticket, 'no', 'human', START), { code: 'TICKET_SETTLED', message: says, ticket })
})

t.test('cancelling is for what is pending; a second time changes nothing', async t => {
  const { ticket, event } = cancel(ticketOf(), START + 7)!
  t.match(ticket, { status: 'cancelled', cancelled_at: at(7), rev: 2 })
  t.strictSame(event, { event: 'cancelled', at: at(7), actor: 'agent' })
  t.equal(cancel(ticket, START + 8), undefined)
  t.throws(() => cancel(answered(), START), { code: 'TICKET_SETTLED', message: /already answered/ })
  t.throws(() => cancel(expire(ticketOf({ timeout_seconds: 1 }), START + 1_000)!.ticket, START), { code: 'TICKET_SETTLED', message: /expired/ })
})

t.test('a ticket expires at its time exactly, not a millisecond before', async t => {
  const ticket = ticketOf({ timeout_seconds: 60, default_answer: 'no' })
  t.equal(isDue(ticket, START + 59_999), false)
  t.equal(expire(ticket, START + 59_999), undefined)
  t.equal(isDue(ticket, START + 60_000), true)
  const { ticket: expired, event } = expire(ticket, START + 60_000)!
  t.strictSame(expired, { ...ticket, status: 'expired', answer: 'no', answered_by: 'default', answered_at: at(60_000), rev: 2 })
  t.strictSame(event, { event: 'expired', at: at(60_000), actor: 'system' })
  t.equal(expire(expired, START + 99_000), undefined, 'once')
})

t.test('a default counts as applied at its time, whenever it was noticed; without one there is no answer', async t => {
  const late = expire(ticketOf({ timeout_seconds: 60, default_answer: 'no' }), START + 3_600_000)!
  t.equal(late.ticket.answered_at, at(60_000))
  t.equal(late.event.at, at(3_600_000), 'the log says when it was noticed')
  const bare = expire(ticketOf({ timeout_seconds: 60 }), START + 60_000)!.ticket
  t.notOk('answer' in bare || 'answered_by' in bare || 'answered_at' in bare)
})

t.test('what is settled is never due', async t => {
  for (const ticket of [answered(), cancel(ticketOf(), START)!.ticket]) t.equal(isDue(ticket, START + 1e9), false)
})

t.test('an answer can be undone up to five minutes after it, to the millisecond', async t => {
  const before = answered({}, 1_000)
  for (const ms of [0, 299_999, 300_000]) t.equal(undo(before, 'human', START + 1_000 + ms).ticket.status, 'pending', `${ms}`)
  for (const ms of [300_001, 86_400_000]) {
    t.throws(() => undo(before, 'human', START + 1_000 + ms), { code: 'UNDO_WINDOW_PASSED', message: /answered at 2026-03-01T12:00:01.000Z.*five minutes/, ticket: before }, `${ms}`)
  }
})

t.test('an undone ticket is as it was, and open for five minutes at least', async t => {
  const early = undo(answered({ default_answer: 'd' }), 'Lea', START + 1_000)
  t.strictSame(early.ticket, { ...ticketOf({ default_answer: 'd' }), rev: 3 }, 'its own time is longer: it stays')
  t.strictSame(early.event, { event: 'undone', at: at(1_000), actor: 'Lea' })
  const late = undo(answered({ timeout_seconds: 10, default_answer: 'd' }, 9_000), 'Lea', START + 200_000)
  t.equal(late.ticket.expires_at, at(500_000), 'past its expiry it gets five minutes')
  t.equal(isDue(late.ticket, START + 499_999), false)
  const edge = undo(answered({ timeout_seconds: 301 }), 'Lea', START + 1_000)
  t.equal(edge.ticket.expires_at, at(301_000), 'with five minutes left to the millisecond nothing moves')
})

t.test('only a person\'s answer can be undone', async t => {
  t.throws(() => undo(ticketOf(), 'human', START), { code: 'UNDO_WINDOW_PASSED', message: /pending/ })
  t.throws(() => undo(cancel(ticketOf(), START)!.ticket, 'human', START), { code: 'TICKET_SETTLED', message: /cancelled/ })
  t.throws(() => undo(expire(ticketOf({ timeout_seconds: 1, default_answer: 'd' }), START + 1_000)!.ticket, 'human', START + 1_001), { code: 'TICKET_SETTLED', message: /default answer/ })
})

t.test('each change is one revision more', async t => {
  let ticket = ticketOf()
  for (let rev = 1; rev < 21; rev += 2) {
    t.equal(ticket.rev, rev)
    ticket = answer(ticket, 'yes', 'human', START + rev).ticket
    t.equal(ticket.rev, rev + 1)
    ticket = undo(ticket, 'human', START + rev).ticket
  }
})
