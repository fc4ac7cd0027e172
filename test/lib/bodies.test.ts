import t from 'tap'
import { bodyText, judge, requireJson } from '../../lib/bodies'
import { AnswerBodySchema, HistoryQuerySchema } from '../../schemas/api'

const bad = (message: RegExp): { code: string, message: RegExp } => ({ code: 'BAD_REQUEST', message })

t.test('a body is judged as it is, and a query has its digits read as numbers', async t => {
  t.strictSame(judge(AnswerBodySchema, { id: 'a', answer: '5' }), { id: 'a', answer: '5' })
  t.throws(() => judge(AnswerBodySchema, { id: 'a', answer: 5 }), bad(/^answer must be a text; got the number 5/))
  t.strictSame(judge(HistoryQuerySchema, { before: '7', limit: '2' }, 'querystring'), { before: 7, limit: 2 })
  for (const limit of ['0x10', '1e2', '', '1.5', ' 1', ['1', '2']]) {
    t.throws(() => judge(HistoryQuerySchema, { limit }, 'querystring'), bad(/^limit must be a whole number/), JSON.stringify(limit))
  }
  t.throws(() => judge(HistoryQuerySchema, { page: '1' }, 'querystring'), bad(/^the query has an unknown field "page"/))
})

t.test('only JSON that is not compressed is a body', async t => {
  for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/json ;x=y']) {
    for (const encoding of [undefined, null, 'identity', ' Identity ']) t.doesNotThrow(() => requireJson(type, encoding))
  }
  for (const type of [undefined, null, '', 'text/plain', 'application/jsonp', 'text/plain; application/json']) {
    t.throws(() => requireJson(type, undefined), { code: 'UNSUPPORTED_MEDIA_TYPE', message: /send content-type: application\/json/ })
  }
  t.throws(() => requireJson('application/json', 'gzip'), { code: 'UNSUPPORTED_MEDIA_TYPE', message: /without content-encoding/ })
})

t.test('a body is UTF-8, with or without its mark, and is not read as anything else', async t => {
  t.equal(bodyText(new TextEncoder().encode('\ufeff{"a":"grün"}')), '{"a":"grün"}')
  t.throws(() => bodyText(new Uint8Array([0x22, 0xfc, 0x22])), bad(/^The body is not UTF-8/))
})
