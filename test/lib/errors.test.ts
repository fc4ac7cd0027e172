import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ERRORS, fromBody, ReadyroomError, toHttp, toReadyroomError, type ErrorCode } from '../../lib/errors'
import { decide } from '../helpers/decisions'

t.test('the table of errors is the README\'s, both ways', async t => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const section = readme.slice(readme.indexOf('| code | HTTP | to an agent |'))
  const rows = Array.from(section.matchAll(/^\| ([A-Z_]+) \| (\d+) \| (.+) \|$/gm), ([, code, status, agent]) => [code, Number(status), agent])
  const words: Record<string, string> = { tool: 'tool result', http: 'HTTP only', never: 'never', '-32603': 'JSON-RPC -32603' }
  t.strictSame(rows, Object.entries(ERRORS).map(([code, { status, mcp }]) => [code, status, words[String(mcp)]]))
})

t.test('a failure that was foreseen keeps its code, sentence, headers and ticket over HTTP', async t => {
  const { ticket } = decide('a')
  for (const [code, { status }] of Object.entries(ERRORS) as Array<[ErrorCode, { status: number }]>) {
    const err = new ReadyroomError(code, 'What, and what to do.', { headers: { allow: 'GET' }, cause: new Error('inner') })
    t.strictSame(toHttp(err), { status, headers: { allow: 'GET' }, body: { error: code, message: 'What, and what to do.' } })
  }
  const settled = new ReadyroomError('TICKET_SETTLED', 'Ticket a is already answered.', { ticket })
  t.strictSame(toHttp(settled).body, { error: 'TICKET_SETTLED', message: 'Ticket a is already answered.', ticket })
})

t.test('what nobody named is INTERNAL, and its own text stays inside', async t => {
  const thrown = [new TypeError('secret detail'), Object.assign(new Error('secret detail'), { statusCode: 404, code: 'ENOENT' }), 'secret detail', undefined, null, { error: 'NOT_FOUND', message: 'secret detail' }]
  for (const err of thrown) {
    const named = toReadyroomError(err)
    t.equal(named.code, 'INTERNAL')
    t.equal(named.cause, err)
    const { status, body } = toHttp(err)
    t.equal(status, 500)
    t.notMatch(JSON.stringify(body), /secret detail/)
  }
})

t.test('a named failure passes as it is', async t => {
  const err = new ReadyroomError('QUEUE_FULL', 'Full.')
  t.equal(toReadyroomError(err), err)
  t.ok(err instanceof Error)
  t.equal(err.name, 'ReadyroomError')
})

t.test('a refusal that another process sent is the same failure again', async t => {
  const { ticket } = decide('a')
  const sent = new ReadyroomError('TICKET_SETTLED', 'Ticket a is already answered.', { ticket })
  const read = fromBody(JSON.parse(JSON.stringify(toHttp(sent).body)))
  t.match(read, { code: 'TICKET_SETTLED', message: sent.message })
  t.strictSame(read.ticket, ticket)
  t.equal(fromBody({ error: 'BAD_REQUEST', message: 'No.' }).ticket, undefined)
})

t.test('anything else that was sent is INTERNAL', async t => {
  for (const body of [undefined, null, 5, 'x', [], {}, { error: 'NOPE', message: 'm' }, { error: 'toString', message: 'm' }, { error: 'BAD_REQUEST' }, { error: 5, message: 'm' }, { error: 'BAD_REQUEST', message: 5 }]) {
    t.equal(fromBody(body).code, 'INTERNAL', JSON.stringify(body))
  }
})
