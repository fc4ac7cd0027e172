import t from 'tap'
import { streamOf } from '../../lib/stream-path'

t.test('a stream is one segment, percent-decoded; none is none', async t => {
  t.equal(streamOf(undefined), undefined)
  t.equal(streamOf(''), undefined)
  t.equal(streamOf('agent'), 'agent')
  t.equal(streamOf('Z%C3%BCrich%2F%CE%B2'), 'Zürich/β')
  t.equal(streamOf('a+b%20c'), 'a+b c')
})

t.test('what is no stream is refused with what to do', async t => {
  t.throws(() => streamOf('a/b'), { code: 'NOT_FOUND', message: /written as %2F/ })
  t.throws(() => streamOf('a/'), { code: 'NOT_FOUND' })
  t.throws(() => streamOf('%E0%A4%A'), { code: 'BAD_REQUEST', message: /percent-encoding/ })
  t.throws(() => streamOf('%20'), { code: 'BAD_REQUEST', message: /blank/ })
  t.throws(() => streamOf('a%00b'), { code: 'BAD_REQUEST', message: /control characters/ })
  t.throws(() => streamOf('x'.repeat(101)), { code: 'BAD_REQUEST', message: /at most 100 characters; got 101/ })
})
