import t from 'tap'
import { shorten } from '../../lib/views'
import { decide } from '../helpers/decisions'

const withContext = (context?: string) => decide('a', context === undefined ? {} : { context }).ticket

t.test('a context at the limit stays, and the ticket is the same one', async t => {
  for (const ticket of [withContext(), withContext(''), withContext('x'.repeat(10)), withContext('\u{1F600}'.repeat(10))]) t.equal(shorten(ticket, 10), ticket)
})

t.test('a longer one is cut between code points and marked', async t => {
  t.strictSame(shorten(withContext('x'.repeat(11)), 10), { ...withContext('x'.repeat(10)), context_truncated: true })
  t.strictSame(shorten(withContext('\u{1F600}'.repeat(11)), 10), { ...withContext('\u{1F600}'.repeat(10)), context_truncated: true })
})

t.test('the ticket that was given is not changed', async t => {
  const ticket = withContext('x'.repeat(11))
  shorten(ticket, 10)
  t.equal(ticket.context, 'x'.repeat(11))
})
