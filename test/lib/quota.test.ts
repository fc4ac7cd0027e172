import t from 'tap'
import { Quota, QUOTA, textSize } from '../../lib/quota'
import type { Ticket } from '../../schemas/ticket'
import { decide } from '../helpers/decisions'

const ticket = (id: string, more: Partial<Ticket> = {}): Ticket => decide(id, more).ticket

t.test('text is counted in UTF-8 bytes: question, context, default and options', async t => {
  t.equal(textSize(ticket('a', { question: 'aä\u{1F600}', context: 'bb', default_answer: 'c', options: ['dd', 'ä'] })), 7 + 2 + 1 + 4)
})

t.test('10,000 tickets fit, one more does not', async t => {
  const quota = new Quota()
  for (let i = 0; i < QUOTA.tickets; i++) quota.reserve(ticket(`t${i}`, { stream: `s${i % 50}` }))
  t.equal(quota.tickets, 10_000)
  t.throws(() => quota.reserve(ticket('over', { stream: 'other' })), { code: 'QUEUE_FULL', message: /10000 tickets are pending/ })
  t.equal(quota.tickets, 10_000, 'what exists stays untouched')
  quota.remove('t0')
  quota.reserve(ticket('next', { stream: 'other' }))
  t.equal(quota.tickets, 10_000)
})

t.test('500 tickets of one stream fit, one more does not; other streams are not touched', async t => {
  const quota = new Quota()
  for (let i = 0; i < QUOTA.perStream; i++) quota.reserve(ticket(`t${i}`, { stream: 'busy' }))
  t.throws(() => quota.reserve(ticket('over', { stream: 'busy' })), { code: 'QUEUE_FULL', message: /The stream "busy" is full: 500/ })
  quota.reserve(ticket('calm', { stream: 'calm' }))
  quota.remove('t499')
  quota.reserve(ticket('again', { stream: 'busy' }))
  t.throws(() => quota.reserve(ticket('over', { stream: 'busy' })), { code: 'QUEUE_FULL' })
})

t.test('64 MiB of text fit to the byte', async t => {
  const quota = new Quota()
  const piece = ticket('x', { question: 'q', context: 'x'.repeat(65_535) })
  t.equal(textSize(piece), 65_536)
  for (let i = 0; i < 1_023; i++) quota.reserve({ ...piece, id: `t${i}`, stream: `s${i % 9}` })
  t.throws(() => quota.reserve(ticket('over', { question: 'qq', context: 'x'.repeat(65_535) })), { code: 'QUEUE_FULL', message: /64 MiB/ })
  quota.reserve({ ...piece, id: 'last' })
  t.throws(() => quota.reserve(ticket('over', { question: 'q' })), { code: 'QUEUE_FULL' })
  quota.remove('last')
  quota.reserve(ticket('small', { question: 'q' }))
})

t.test('one id takes one place, however often it comes and goes', async t => {
  const quota = new Quota()
  const one = ticket('a')
  quota.add(one)
  quota.add(one)
  quota.reserve(one)
  t.equal(quota.tickets, 1)
  quota.remove('a')
  quota.remove('a')
  quota.remove('never')
  t.equal(quota.tickets, 0)
})

t.test('a call that is sent again takes no second place, even where the queue is full', async t => {
  const quota = new Quota()
  for (let i = 0; i < QUOTA.perStream; i++) quota.reserve(ticket(`t${i}`, { stream: 'busy' }))
  t.equal(quota.refusal(ticket('t7', { stream: 'busy' })), undefined)
  t.doesNotThrow(() => quota.reserve(ticket('t7', { stream: 'busy' })))
})

t.test('a person\'s undo is counted but never refused', async t => {
  const quota = new Quota()
  for (let i = 0; i < QUOTA.perStream; i++) quota.reserve(ticket(`t${i}`, { stream: 'busy' }))
  quota.add(ticket('undone', { stream: 'busy' }))
  t.equal(quota.tickets, 501)
  quota.remove('t0')
  t.throws(() => quota.reserve(ticket('over', { stream: 'busy' })), { code: 'QUEUE_FULL' })
})
