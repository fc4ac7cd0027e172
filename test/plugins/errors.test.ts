import { errorCodes } from 'fastify'
import t from 'tap'
import { ERRORS, ReadyroomError } from '../../lib/errors'
import { fromFastify } from '../../plugins/errors'

t.test('every failure of Fastify that a client can cause has its place in the table', async t => {
  const table: Array<[keyof typeof errorCodes, string]> = [
    ['FST_ERR_CTP_BODY_TOO_LARGE', 'TOO_LARGE'], ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'UNSUPPORTED_MEDIA_TYPE'], ['FST_ERR_CTP_EMPTY_JSON_BODY', 'BAD_REQUEST'],
    ['FST_ERR_CTP_INVALID_JSON_BODY', 'BAD_REQUEST'], ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'BAD_REQUEST'], ['FST_ERR_BAD_URL', 'BAD_REQUEST'],
    ['FST_ERR_NOT_FOUND', 'NOT_FOUND'], ['FST_ERR_VALIDATION', 'BAD_REQUEST']
  ]
  for (const [name, code] of table) {
    const err = new errorCodes[name]('detail')
    const named = fromFastify(err)
    t.equal(named.code, code, name)
    t.equal(named.cause, err)
    t.equal(ERRORS[named.code].status, err.statusCode, `${name}: the status stays`)
    t.notMatch(named.message, /FST_|detail/)
  }
})

t.test('what another plugin threw keeps its status where the table has one, and not its text', async t => {
  for (const [statusCode, code] of [[400, 'BAD_REQUEST'], [404, 'NOT_FOUND'], [412, 'BAD_REQUEST'], [413, 'TOO_LARGE'], [415, 'UNSUPPORTED_MEDIA_TYPE'], [429, 'TOO_MANY_REQUESTS'],
    [418, 'INTERNAL'], [500, 'INTERNAL'], [undefined, 'INTERNAL']] as const) {
    const named = fromFastify(Object.assign(new Error('secret detail'), { statusCode }))
    t.equal(named.code, code, String(statusCode))
    t.notMatch(named.message, /secret detail/)
  }
})

t.test('a failure of ours passes, and what is no failure at all is INTERNAL', async t => {
  const err = new ReadyroomError('QUEUE_FULL', 'Full.')
  t.equal(fromFastify(err), err)
  for (const thrown of [undefined, null, 'text', 5, { code: 'toString' }]) t.equal(fromFastify(thrown).code, 'INTERNAL', String(thrown))
})
