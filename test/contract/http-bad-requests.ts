import type { Test } from 'tap'
import type { Ticket } from '../../schemas/ticket'
import { enqueue, json, JSON_TYPE, post, refused, type HttpTarget } from './http-target'

const long = (length: number): string => '\u{1F600}'.repeat(length)

export async function badRequests (t: Test, target: HttpTarget): Promise<void> {
  t.test('a body is judged by its schema and by nothing looser', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    const table: Array<[string, unknown, RegExp]> = [
      ['/api/answer', {}, /id and answer are missing from the body/],
      ['/api/answer', { id }, /answer is missing from the body/],
      ['/api/answer', { id: 5, answer: 'yes' }, /id must be a text; got the number 5/],
      ['/api/answer', { id: null, answer: 'yes' }, /id must be a text; got null/],
      ['/api/answer', { id: '', answer: 'yes' }, /id must have at least 1 character; got the text ""/],
      ['/api/answer', { id: long(101), answer: 'yes' }, /id may have at most 100 characters; got 101/],
      ['/api/answer', { id, answer: '' }, /answer must have at least 1 character/],
      ['/api/answer', { id, answer: ' \u200B\n' }, /answer must say something/],
      ['/api/answer', { id, answer: 5 }, /answer must be a text; got the number 5/],
      ['/api/answer', { id, answer: ['yes'] }, /answer must be a text; got a list of 1/],
      ['/api/answer', { id, answer: long(16_385) }, /answer may have at most 16,384 characters; got 16,385/],
      ['/api/answer', { id, answer: 'yes', answered_by: long(81) }, /answered_by may have at most 80 characters; got 81/],
      ['/api/answer', { id, answer: 'yes', answered_by: null }, /answered_by must be a text; got null/],
      ['/api/answer', { id, answer: 'yes', status: 'answered' }, /unknown field "status"; known are id, answer, answered_by/],
      ['/api/answer', [{ id, answer: 'yes' }], /the body must be an object; got a list of 1/],
      ['/api/answer', 'null', /the body must be an object; got null/],
      ['/api/answer', '"text"', /the body must be an object; got the text "text"/],
      ['/api/answer', '5', /the body must be an object; got the number 5/],
      ['/api/undo', {}, /id is missing from the body/],
      ['/api/undo', { id, answer: 'yes' }, /unknown field "answer"/],
      ['/api/undo', { id: true }, /id must be a text; got the boolean true/]
    ]
    for (const [path, body, says] of table) await refused(t, to.request(path, post(body)), 400, 'BAD_REQUEST', says)
    t.equal((await json<Ticket>(to.request(`/api/tickets/${id}`))).rev, 1, 'none of them touched the ticket')
  })

  t.test('what is at its limit passes', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    const answer = long(16_384)
    const response = await to.request('/api/answer', post({ id, answer, answered_by: long(80) }))
    t.equal(response.status, 200)
    t.equal((await json<Ticket>(response)).answer, answer)
  })

  t.test('a body that is no JSON is 400', async t => {
    const to = await target.open(t)
    for (const body of ['', '{"id":', '{"id":"a","answer":"b"', '{id:1}', '{"id":"a"}{"id":"b"}', "{'id':'a'}", '\u0000']) {
      await refused(t, to.request('/api/answer', post(body)), 400, 'BAD_REQUEST', /^The body is/)
    }
  })

  t.test('a body of brackets within brackets is refused before it is parsed, to the API and to MCP', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    for (const deep of ['['.repeat(1_000_000), '['.repeat(101) + ']'.repeat(101), '{"a":'.repeat(101) + '1' + '}'.repeat(101)]) {
      await refused(t, to.request('/api/answer', post(deep)), 400, 'BAD_REQUEST', /at most 100 lists and objects within each other/)
      const response = await to.request('/mcp/agent', post(deep, { origin: to.origin }))
      t.equal(response.status, 400)
      t.match(await response.json(), { jsonrpc: '2.0', id: null, error: { code: -32600, message: /at most 100 lists and objects/ } })
    }
    await refused(t, to.request('/api/answer', post('['.repeat(100) + ']'.repeat(100))), 400, 'BAD_REQUEST', /must be an object/)
    const answer = `\\"${'[{'.repeat(200)}"\\`
    t.match(await json<Ticket>(to.request('/api/answer', post({ id, answer }))), { answer }, 'brackets in a text are text')
  })

  t.test('a body that is not UTF-8 is 400, so that no letter of an answer is replaced', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    const around = JSON.stringify({ id, answer: '|' }).split('|').map(part => [...Buffer.from(part)])
    // "größer" in Latin-1, half of a two-byte letter, a surrogate, an overlong slash.
    for (const bytes of [[0x67, 0x72, 0xF6, 0xDF, 0x65, 0x72], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0xAF]]) {
      const body = Uint8Array.from([...around[0]!, ...bytes, ...around[1]!])
      await refused(t, to.request('/api/answer', { method: 'POST', headers: JSON_TYPE, body }), 400, 'BAD_REQUEST', /^The body is not UTF-8/)
    }
    t.equal((await json<Ticket>(to.request(`/api/tickets/${id}`))).status, 'pending')
    const body = Uint8Array.from([...around[0]!, ...Buffer.from('größer 😀'), ...around[1]!])
    t.match(await json<Ticket>(to.request('/api/answer', { method: 'POST', headers: JSON_TYPE, body })), { answer: 'größer 😀' })
  })

  t.test('a body that reaches for a prototype is refused', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    for (const more of ['"__proto__":{"answered_by":"x"}', '"\\u005f_proto__":{}', '"constructor":{"prototype":{"answer":"x"}}', '"__proto__":null', '"toString":1']) {
      await refused(t, to.request('/api/answer', post(`{"id":"${id}","answer":"yes",${more}}`)), 400, 'BAD_REQUEST')
    }
    t.equal((await json<Ticket>(to.request(`/api/tickets/${id}`))).status, 'pending')
  })

  t.test('a body over 1 MiB is 413, one of 1 MiB is read', async t => {
    const to = await target.open(t)
    const pad = (bytes: number): string => `{"id":"${'x'.repeat(bytes - 9)}"}`
    t.equal(pad(1_048_576).length, 1_048_576)
    await refused(t, to.request('/api/undo', post(pad(1_048_576))), 400, 'BAD_REQUEST', /id may have at most 100 characters/)
    await refused(t, to.request('/api/undo', post(pad(1_048_577))), 413, 'TOO_LARGE', /1 MiB/)
  })

  t.test('anything but application/json is 415', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    const body = JSON.stringify({ id, answer: 'yes' })
    const types = ['text/plain', 'text/plain; application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp',
      'application/json-patch+json', 'application/xml', 'json', 'x']
    for (const type of types) {
      for (const path of ['/api/answer', '/api/undo']) {
        await refused(t, to.request(path, { method: 'POST', headers: { 'content-type': type }, body }), 415, 'UNSUPPORTED_MEDIA_TYPE', /application\/json/)
      }
    }
    await refused(t, to.request('/api/answer', { method: 'POST', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body }), 415, 'UNSUPPORTED_MEDIA_TYPE')
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json ; charset=utf-8']) {
      await refused(t, to.request('/api/undo', { method: 'POST', headers: { 'content-type': type }, body: '{"id":"none"}' }), 404, 'TICKET_NOT_FOUND')
    }
  })

  t.test('a query is read as text and judged like a body', async t => {
    const to = await target.open(t)
    const table: Array<[string, RegExp]> = [
      ['/api/history?limit=0', /limit must be at least 1; got 0/],
      ['/api/history?limit=201', /limit may be at most 200; got 201/],
      ['/api/history?limit=', /limit must be a whole number; got the text ""/],
      ['/api/history?limit=ten', /limit must be a whole number; got the text "ten"/],
      ['/api/history?limit=1.5', /limit must be a whole number/],
      ['/api/history?limit=0x10', /limit must be a whole number/],
      ['/api/history?limit=1&limit=2', /limit must be a whole number; got a list of 2/],
      ['/api/history?before=0', /before must be at least 1/],
      ['/api/history?page=2', /unknown field "page"; known are before, limit/],
      ['/api/audit?after=-1', /after must be at least 0; got -1/],
      ['/api/audit?limit=1001', /limit may be at most 1,000; got 1001/],
      ['/api/audit?limit=99999999999999999999', /limit must be a whole number/],
      ['/api/tickets?token=secret', /the query has an unknown field "token"/],
      ['/api/events?token=secret', /the query has an unknown field "token"/],
      ['/api/tickets/x?full=1', /the query has an unknown field "full"/],
      [`/api/tickets/${'x'.repeat(101)}`, /id may have at most 100 characters; got 101/]
    ]
    for (const [path, says] of table) await refused(t, to.request(path), 400, 'BAD_REQUEST', says)
    for (const path of ['/api/history?limit=200', '/api/audit?after=0&limit=1000', '/api/history?before=1']) t.equal((await to.request(path)).status, 200, path)
  })

  t.test('an address with broken percent-encoding is 400', async t => {
    const to = await target.open(t)
    for (const path of ['/api/tickets/%', '/api/tickets/%E0%A4%A', '/%zz']) await refused(t, to.request(path), 400, 'BAD_REQUEST')
  })
}
