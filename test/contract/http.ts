import type { Test } from 'tap'
import type { ErrorBody } from '../../schemas/error'
import type { AuditEntry } from '../../schemas/event'
import type { HistoryPage, TicketList } from '../../schemas/api'
import type { Ticket } from '../../schemas/ticket'
import type { OriginPolicy } from '../../lib/origin'

export interface OpenOptions { token?: string, originPolicy?: OriginPolicy, allowedOrigins?: string[] }

export interface Init { method?: string, headers?: Record<string, string>, body?: string }

/** One running Ready Room, as a client sees it. */
export interface OpenTarget {
  /** Its own origin, which every request below is sent to unless it says otherwise. */
  origin: string
  request (path: string, init?: Init): Promise<Response>
}

export interface HttpTarget {
  name: string
  /** A Ready Room without tickets, gone with the test. */
  open (t: Test, options?: OpenOptions): Promise<OpenTarget>
  /** Whether its loopback is the access control where no token is set. */
  loopback: boolean
}

const JSON_TYPE = { 'content-type': 'application/json' }

const post = (body: unknown, headers: Record<string, string> = {}): Init =>
  ({ method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) })

const json = async <T> (response: Response | Promise<Response>): Promise<T> => (await response).json() as Promise<T>

/** Enqueues over MCP, as an agent does. */
async function enqueue (to: OpenTarget, args: object = {}, headers: Record<string, string> = {}): Promise<Ticket> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'Ship it?', ...args } } }
  const response = await to.request('/mcp/agent', post(call, { accept: 'application/json', origin: to.origin, ...headers }))
  const { result } = await json<{ result: { isError?: boolean, content: [{ text: string }], structuredContent: { id: string } } }>(response)
  if (result.isError) throw new Error(result.content[0].text)
  return json<Ticket>(to.request(`/api/tickets/${result.structuredContent.id}`, { headers }))
}

/** Asserts a refusal whole: status, code, one sentence, and nothing else in the body. */
async function refused (t: Test, answer: Response | Promise<Response>, status: number, code: string, says?: RegExp): Promise<Response> {
  const response = await answer
  const body = await json<ErrorBody>(response)
  const { ticket, ...rest } = body
  t.equal(response.status, status, body.message)
  t.match(response.headers.get('content-type'), /^application\/json/)
  t.strictSame(Object.keys(rest).sort(), ['error', 'message'])
  t.equal(body.error, code, body.message)
  if (says !== undefined) t.match(body.message, says)
  return response
}

/** What `GET /api/...`, the page and the guards promise, on every target. */
export function httpContract (t: Test, target: HttpTarget): void {
  t.test(`${target.name}: the routes`, t => routes(t, target))
  t.test(`${target.name}: settling`, t => settling(t, target))
  t.test(`${target.name}: bad requests`, t => badRequests(t, target))
  t.test(`${target.name}: the guards`, t => guards(t, target))
}

async function routes (t: Test, target: HttpTarget): Promise<void> {
  t.test('healthz says ok and who answers', async t => {
    const to = await target.open(t)
    const response = await to.request('/healthz')
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^text\/plain/)
    t.match(response.headers.get('x-readyroom'), /^\d+\.\d+\.\d+\S*; instance=\S+$/)
    t.equal(await response.text(), 'ok')
  })

  t.test('the heads-up page is at the root, under a policy of its own', async t => {
    const to = await target.open(t)
    const response = await to.request('/')
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^text\/html/)
    t.match(response.headers.get('content-security-policy'), /default-src 'none'.*script-src 'sha256-/)
    t.match(await response.text(), /<!doctype html>/i)
  })

  t.test('an address that is not known is 404', async t => {
    const to = await target.open(t)
    for (const path of ['/nope', '/api', '/api/', '/api/nope', '/api/tickets/a/b', '/healthz/x', '/.well-known/oauth-authorization-server', '/index.html']) {
      await refused(t, to.request(path), 404, 'NOT_FOUND')
    }
  })

  t.test('a known address with another method is 405 and says which it answers', async t => {
    const to = await target.open(t)
    const table: Array<[string, string[]]> = [
      ['/healthz', ['GET', 'HEAD']], ['/', ['GET', 'HEAD']], ['/api/tickets', ['GET', 'HEAD']], ['/api/tickets/some', ['GET', 'HEAD']],
      ['/api/history', ['GET', 'HEAD']], ['/api/audit', ['GET', 'HEAD']], ['/api/events', ['GET']], ['/api/answer', ['POST']], ['/api/undo', ['POST']],
      ['/mcp', ['POST']], ['/mcp/agent', ['POST']]
    ]
    for (const [path, allow] of table) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allow.includes(method)) continue
        const response = await to.request(path, { method, headers: { origin: to.origin } })
        t.equal(response.status, 405, `${method} ${path}`)
        t.equal(response.headers.get('allow'), allow.join(', '), `${method} ${path}`)
        if (method !== 'HEAD') t.equal((await json<ErrorBody>(response)).error, 'METHOD_NOT_ALLOWED')
      }
    }
  })

  t.test('HEAD is GET without the body', async t => {
    const to = await target.open(t)
    for (const path of ['/healthz', '/', '/api/tickets', '/api/history', '/api/audit']) {
      const response = await to.request(path, { method: 'HEAD' })
      t.equal(response.status, 200, path)
      t.equal(await response.text(), '', path)
    }
  })

  t.test('a ticket that an agent enqueued is listed, with the server\'s clock', async t => {
    const to = await target.open(t)
    const ticket = await enqueue(to, {
      question: 'Which one? <img src=x onerror=alert(1)> \u{1F6A6}', options: ['red', 'grün'], context: 'a\r\n\tb\u2028c', default_answer: 'red', urgency: 'blocking', timeout_seconds: 60
    })
    const list = await json<TicketList>(to.request('/api/tickets'))
    t.strictSame(list.tickets, [ticket])
    t.strictSame(ticket, {
      id: ticket.id,
      stream: 'agent',
      question: 'Which one? <img src=x onerror=alert(1)> \u{1F6A6}',
      options: ['red', 'grün'],
      context: 'a\r\n\tb\u2028c',
      default_answer: 'red',
      urgency: 'blocking',
      status: 'pending',
      created_at: ticket.created_at,
      expires_at: ticket.expires_at,
      rev: 1
    })
    t.equal(Date.parse(ticket.expires_at) - Date.parse(ticket.created_at), 60_000)
    t.match(list.now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.ok(Date.parse(list.now) >= Date.parse(ticket.created_at))
  })

  t.test('a list cuts a context over 4,096 characters and marks it; the ticket itself has it whole', async t => {
    const to = await target.open(t)
    const at = await enqueue(to, { context: '\u{1F600}'.repeat(4_096) })
    const over = await enqueue(to, { context: '\u{1F600}'.repeat(4_097) })
    const { tickets } = await json<TicketList>(to.request('/api/tickets'))
    t.strictSame(tickets.find(({ id }) => id === at.id), at)
    t.strictSame(tickets.find(({ id }) => id === over.id), { ...over, context: '\u{1F600}'.repeat(4_096), context_truncated: true })
    t.equal([...over.context!].length, 4_097)
  })

  t.test('history comes a page at a time, newest first, to its end', async t => {
    const to = await target.open(t)
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      const { id } = await enqueue(to)
      await to.request('/api/answer', post({ id, answer: `answer ${i}` }))
      ids.unshift(id)
    }
    const seen: string[] = []
    let next: number | undefined
    for (let page = 0; page < 9; page++) {
      const answer: HistoryPage = await json(to.request(`/api/history?limit=2${next === undefined ? '' : `&before=${next}`}`))
      seen.push(...answer.tickets.map(({ id }) => id))
      t.ok(answer.tickets.length <= 2)
      next = answer.next
      if (next === undefined) break
    }
    t.strictSame(seen, ids)
    t.equal(next, undefined)
    const whole = await json<HistoryPage>(to.request('/api/history'))
    t.strictSame(whole.tickets.map(({ id }) => id), ids)
  })

  t.test('the audit log is read in order, from where the reader is', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    await to.request('/api/answer', post({ id, answer: 'yes', answered_by: 'Lea' }))
    await to.request('/api/undo', post({ id }))
    const { entries } = await json<{ entries: AuditEntry[] }>(to.request('/api/audit'))
    t.strictSame(entries.map(({ seq, event, actor }) => [seq, event, actor]), [[1, 'enqueued', 'agent'], [2, 'answered', 'Lea'], [3, 'undone', 'human']])
    t.equal(entries[0]!.prev, '0'.repeat(64))
    t.equal(entries[1]!.prev, entries[0]!.hash)
    t.strictSame((await json<{ entries: AuditEntry[] }>(to.request('/api/audit?after=1&limit=1'))).entries, [entries[1]])
    t.strictSame((await json<{ entries: AuditEntry[] }>(to.request('/api/audit?after=3'))).entries, [])
  })
}

async function settling (t: Test, target: HttpTarget): Promise<void> {
  t.test('an answer settles a ticket and comes back with it', async t => {
    const to = await target.open(t)
    const before = await enqueue(to)
    const response = await to.request('/api/answer', post({ id: before.id, answer: ' yes\n"do" \u{1F44D} ', answered_by: 'Lea' }))
    t.equal(response.status, 200)
    const ticket = await json<Ticket>(response)
    t.strictSame(ticket, { ...before, status: 'answered', answer: ' yes\n"do" \u{1F44D} ', answered_by: 'human', answered_at: ticket.answered_at, rev: 2 })
    t.strictSame(await json(to.request(`/api/tickets/${ticket.id}`)), ticket)
    t.strictSame((await json<TicketList>(to.request('/api/tickets'))).tickets, [ticket], 'settled a moment ago, it is still listed')
  })

  t.test('a second answer is 409 and brings the ticket as it now is; nothing else changes', async t => {
    const to = await target.open(t)
    const [{ id }, other] = [await enqueue(to), await enqueue(to)]
    const first = await json<Ticket>(to.request('/api/answer', post({ id, answer: 'yes' })))
    const response = await to.request('/api/answer', post({ id, answer: 'no' }))
    t.equal(response.status, 409)
    const body = await json<ErrorBody>(response)
    t.equal(body.error, 'TICKET_SETTLED')
    t.match(body.message, /already answered: "yes", at /)
    t.strictSame(body.ticket, first)
    t.strictSame(await json(to.request(`/api/tickets/${other.id}`)), other)
  })

  t.test('of answers that race one wins, and every other is told what it was', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to)
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => to.request('/api/answer', post({ id, answer: `answer ${i}` }))))
    t.strictSame(answers.map(({ status }) => status).sort(), [200, ...Array<number>(7).fill(409)])
    const won = await json<Ticket>(answers.find(({ status }) => status === 200)!)
    for (const lost of answers.filter(({ status }) => status === 409)) t.strictSame((await json<ErrorBody>(lost)).ticket, won)
    const { entries } = await json<{ entries: AuditEntry[] }>(to.request('/api/audit'))
    t.equal(entries.filter(({ event }) => event === 'answered').length, 1)
  })

  t.test('an undo opens the ticket again for at least five minutes', async t => {
    const to = await target.open(t)
    const before = await enqueue(to, { timeout_seconds: 1, default_answer: 'no' })
    await to.request('/api/answer', post({ id: before.id, answer: 'yes' }))
    const response = await to.request('/api/undo', post({ id: before.id }))
    t.equal(response.status, 200)
    const ticket = await json<Ticket>(response)
    t.strictSame(ticket, { ...before, expires_at: ticket.expires_at, rev: 3 })
    t.ok(Date.parse(ticket.expires_at) - Date.parse(before.created_at) >= 5 * 60_000)
  })

  t.test('what cannot be undone is 409 with the ticket', async t => {
    const to = await target.open(t)
    const ticket = await enqueue(to)
    const response = await refused(t, to.request('/api/undo', post({ id: ticket.id })), 409, 'UNDO_WINDOW_PASSED', /pending/)
    t.equal(response.status, 409)
    t.strictSame((await json<ErrorBody>(to.request('/api/undo', post({ id: ticket.id })))).ticket, ticket)
  })

  t.test('a ticket that is not there is 404', async t => {
    const to = await target.open(t)
    await refused(t, to.request('/api/tickets/none'), 404, 'TICKET_NOT_FOUND', /"none"/)
    await refused(t, to.request('/api/answer', post({ id: 'none', answer: 'yes' })), 404, 'TICKET_NOT_FOUND')
    await refused(t, to.request('/api/undo', post({ id: 'none' })), 404, 'TICKET_NOT_FOUND')
    await refused(t, to.request('/api/tickets/__proto__'), 404, 'TICKET_NOT_FOUND')
  })
}

const long = (length: number): string => '\u{1F600}'.repeat(length)

async function badRequests (t: Test, target: HttpTarget): Promise<void> {
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

const API: Array<[string, string]> = [
  ['GET', '/api/tickets'], ['GET', '/api/tickets/some'], ['GET', '/api/history'], ['GET', '/api/audit'], ['GET', '/api/events'], ['POST', '/api/answer'], ['POST', '/api/undo']
]
const MCP: Array<[string, string]> = [['POST', '/mcp'], ['POST', '/mcp/agent']]
const TOKEN = 'a-token-of-forty-characters-0123456789ab'

async function guards (t: Test, target: HttpTarget): Promise<void> {
  t.test('with a token every route of the API and of MCP needs it, and says so plainly', async t => {
    const to = await target.open(t, { token: TOKEN })
    const headers = { origin: to.origin }
    const table: Array<[Record<string, string>, RegExp]> = [
      [{}, /token is needed/],
      [{ authorization: `Basic ${TOKEN}` }, /token is needed/],
      [{ authorization: TOKEN }, /token is needed/],
      [{ authorization: 'Bearer' }, /token is needed/]
    ]
    for (const [method, path] of [...API, ...MCP]) {
      for (const [given, says] of table) {
        const response = await refused(t, to.request(path, { method, headers: { ...headers, ...given } }), 401, 'UNAUTHORIZED', says)
        t.equal(response.headers.get('www-authenticate'), 'Bearer realm="readyroom"')
      }
    }
    for (const path of ['/healthz', '/']) t.equal((await to.request(path)).status, 200, `${path} is open`)
    await refused(t, to.request('/api/nope'), 404, 'NOT_FOUND')
  })

  t.test('a wrong token is refused, whatever it shares with the right one; the right one does everything', async t => {
    const to = await target.open(t, { token: TOKEN })
    const wrong = [TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), `x${TOKEN.slice(1)}`, 'x']
    for (const token of wrong) {
      const response = await refused(t, to.request('/api/tickets', { headers: { authorization: `Bearer ${token}` } }), 401, 'UNAUTHORIZED', /not the token/)
      t.equal(response.headers.get('www-authenticate'), 'Bearer realm="readyroom"')
    }
    const headers = { authorization: `Bearer ${TOKEN}` }
    const { id } = await enqueue(to, {}, headers)
    t.equal((await to.request('/api/answer', post({ id, answer: 'yes' }, { authorization: `bearer  ${TOKEN}` }))).status, 200)
  })

  t.test('twenty wrong tokens are told so, the next ones have to wait, and the right one never', async t => {
    const to = await target.open(t, { token: TOKEN })
    const guess = (i: number): Promise<Response> => {
      const [method, path] = [...API, ...MCP][i % (API.length + MCP.length)]!
      return to.request(path, { method, headers: { origin: to.origin, authorization: `Bearer guess-${i}` } })
    }
    for (let i = 0; i < 20; i++) await refused(t, guess(i), 401, 'UNAUTHORIZED')
    for (let i = 20; i < 24; i++) {
      const response = await refused(t, guess(i), 429, 'TOO_MANY_REQUESTS', /try again in \d+ seconds/)
      const seconds = Number(response.headers.get('retry-after'))
      t.ok(seconds > 0 && seconds <= 300, `${seconds}`)
    }
    await refused(t, to.request('/api/tickets'), 401, 'UNAUTHORIZED', /token is needed/)
    t.equal((await to.request('/api/tickets', { headers: { authorization: `Bearer ${TOKEN}` } })).status, 200)
  })

  t.test('no token given is no guess: it is never throttled', async t => {
    const to = await target.open(t, { token: TOKEN })
    for (let i = 0; i < 25; i++) await refused(t, to.request('/api/tickets'), 401, 'UNAUTHORIZED')
    await refused(t, to.request('/api/tickets', { headers: { authorization: 'Bearer wrong' } }), 401, 'UNAUTHORIZED', /not the token/)
  })

  t.test('the API admits a browser only from the page itself', async t => {
    const to = await target.open(t, { allowedOrigins: ['https://desk.example'] })
    for (const [method, path] of API) {
      if (path === '/api/events') continue
      const refuse = (headers: Record<string, string>): Promise<Response> =>
        refused(t, to.request(path, { method, headers }), 403, 'FORBIDDEN_ORIGIN')
      for (const site of ['cross-site', 'same-site', 'cross-origin', '']) await refuse({ 'sec-fetch-site': site })
      for (const origin of ['https://evil.example', 'null', '', 'https://desk.example.evil', 'https://desk.example/', 'http://desk.example', 'https://DESK.example',
        'https://desk.example:444', `${to.origin}.evil`, `${to.origin}, ${to.origin}`]) await refuse({ origin })
      await refuse({ origin: to.origin, 'sec-fetch-site': 'cross-site' })
      for (const headers of [{}, { origin: to.origin }, { origin: 'https://desk.example' }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }]) {
        t.not((await to.request(path, { method, headers: headers as Record<string, string> })).status, 403, `${path} ${JSON.stringify(headers)}`)
      }
    }
  })

  t.test('strict: MCP without an Origin is 403 and the refusal says which header to add', async t => {
    const to = await target.open(t)
    for (const [method, path] of MCP) {
      const response = await to.request(path, { ...post({}), method })
      t.equal(response.status, 403)
      const { error, message } = await json<ErrorBody>(response)
      t.equal(error, 'FORBIDDEN_ORIGIN')
      const header = /`Origin: (\S+)`/.exec(message)?.[1]
      t.ok(header, message)
      t.not((await to.request(path, { ...post({}, { origin: header! }), method })).status, 403, 'and with it the call passes')
    }
  })

  t.test('strict or spec: MCP with an Origin that is not ours is 403', async t => {
    for (const originPolicy of ['strict', 'spec'] as const) {
      const to = await target.open(t, { originPolicy, allowedOrigins: ['https://desk.example'] })
      for (const [method, path] of MCP) {
        for (const origin of ['https://evil.example', 'null', '', `${to.origin}/`, `${to.origin}, ${to.origin}`]) {
          await refused(t, to.request(path, { ...post({}, { origin }), method }), 403, 'FORBIDDEN_ORIGIN', /Origin: /)
        }
        for (const origin of [to.origin, 'https://desk.example']) {
          t.not((await to.request(path, { ...post({}, { origin }), method })).status, 403, `${originPolicy} ${origin}`)
        }
      }
    }
  })

  t.test('spec: MCP without an Origin passes', async t => {
    const to = await target.open(t, { originPolicy: 'spec' })
    for (const [method, path] of MCP) t.not((await to.request(path, { ...post({}), method })).status, 403)
  })

  t.test('the order of checks is Origin, credential, method, body', async t => {
    const to = await target.open(t, { token: TOKEN })
    const authorization = `Bearer ${TOKEN}`
    const evil = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    await refused(t, to.request('/api/answer', post('{', evil)), 403, 'FORBIDDEN_ORIGIN')
    await refused(t, to.request('/api/answer', post('{')), 401, 'UNAUTHORIZED')
    await refused(t, to.request('/api/answer', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }), 401, 'UNAUTHORIZED')
    await refused(t, to.request('/api/answer', { method: 'DELETE' }), 401, 'UNAUTHORIZED')
    await refused(t, to.request('/api/answer', { method: 'PUT', headers: { authorization, 'content-type': 'text/plain' }, body: 'x' }), 405, 'METHOD_NOT_ALLOWED')
    await refused(t, to.request('/api/answer', post('{', { authorization })), 400, 'BAD_REQUEST')
  })

  t.test('every answer has the security headers, and none is for another origin', async t => {
    const to = await target.open(t, { token: TOKEN })
    const authorization = `Bearer ${TOKEN}`
    const asked: Array<[string, Init]> = [
      ['/healthz', {}], ['/', {}], ['/nope', {}], ['/api/tickets', {}], ['/api/tickets', { headers: { authorization } }],
      ['/api/tickets', { headers: { authorization, origin: 'https://evil.example' } }], ['/api/answer', post('{', { authorization })],
      ['/api/answer', { method: 'OPTIONS', headers: { authorization, origin: to.origin, 'access-control-request-method': 'POST' } }],
      ['/mcp/agent', post({}, { authorization, origin: to.origin })], ['/api/tickets/%', {}]
    ]
    for (const [path, init] of asked) {
      const { status, headers } = await to.request(path, init)
      const what = `${init.method ?? 'GET'} ${path} ${status}`
      t.equal(headers.get('x-content-type-options'), 'nosniff', what)
      t.equal(headers.get('referrer-policy'), 'no-referrer', what)
      t.match(headers.get('content-security-policy'), /^default-src 'none'/, what)
      if (path !== '/') t.equal(headers.get('cache-control'), 'no-store', what)
      t.strictSame([...headers.keys()].filter(name => name.startsWith('access-control')), [], what)
    }
  })

  t.test('a token is in no answer', async t => {
    const to = await target.open(t, { token: TOKEN })
    const wrong = 'another-token-of-some-length'
    for (const headers of [{ authorization: `Bearer ${wrong}` }, { authorization: `Basic ${TOKEN}` }, { authorization: `Bearer ${TOKEN}`, origin: 'null' }]) {
      for (const path of ['/api/tickets', `/api/tickets/${TOKEN.slice(0, 5)}%`, '/nope', '/mcp']) {
        const response = await to.request(path, { headers: headers as Record<string, string> })
        const text = await response.text() + JSON.stringify([...response.headers])
        t.notOk(text.includes(TOKEN) || text.includes(wrong), text)
      }
    }
  })

  if (!target.loopback) return

  t.test('without a token only a name of ours is answered, on every route, before anything else is looked at', async t => {
    const to = await target.open(t, { allowedOrigins: ['https://desk.example', 'http://board.local:8080'] })
    const { port } = new URL(to.origin)
    const other = String(Number(port) % 65_535 + 1)
    const evil = ['evil.example', `evil.example:${port}`, `localhost.evil.example:${port}`, `127.0.0.1:${other}`, '127.0.0.1', 'localhost', `1.127.0.0.1:${port}`,
      `0.0.0.0:${port}`, `[::]:${port}`, `[::2]:${port}`, `128.0.0.1:${port}`, `evil.example@127.0.0.1:${port}`, `127.0.0.1:${port}/`, `127.0.0.1:${port}#`,
      'board.local', 'desk.example.evil', `127.0.0.1:${port}, evil.example`]
    for (const host of evil) {
      for (const [method, path] of [...API, ...MCP, ['GET', '/'], ['GET', '/healthz'], ['GET', '/nope'], ['DELETE', '/api/tickets']] as Array<[string, string]>) {
        await refused(t, to.request(path, { method, headers: { host, origin: 'https://evil.example' } }), 421, 'FORBIDDEN_HOST')
      }
    }
    const ours = [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `localhost.:${port}`, `[::1]:${port}`, `[0:0:0:0:0:0:0:1]:${port}`, `127.1:${port}`,
      `127.8.9.1:${port}`, `0x7f.0.0.1:${port}`, `2130706433:${port}`, `0177.0.0.1:${port}`, `[::ffff:127.0.0.1]:${port}`, `agents.localhost:${port}`, 'desk.example', 'desk.example:443', 'board.local:8080']
    for (const host of ours) t.equal((await to.request('/healthz', { headers: { host } })).status, 200, host)
  })

  t.test('with a token the Host is not looked at', async t => {
    const to = await target.open(t, { token: TOKEN })
    t.equal((await to.request('/api/tickets', { headers: { host: 'board.example', authorization: `Bearer ${TOKEN}` } })).status, 200)
    t.equal((await to.request('/healthz', { headers: { host: 'board.example' } })).status, 200)
  })
}
