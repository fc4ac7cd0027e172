import type { Test } from 'tap'
import type { HistoryPage, TicketList } from '../../schemas/api'
import type { ErrorBody } from '../../schemas/error'
import type { AuditEntry } from '../../schemas/event'
import { checkNext, EMPTY_HEAD, headAt } from '../../lib/audit'
import { enqueue, json, post, refused, type HttpTarget } from './http-target'

export async function routes (t: Test, target: HttpTarget): Promise<void> {
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

  t.test('the description of it all is one document, behind the guards of the API', async t => {
    const to = await target.open(t, { token: 'a-token-of-forty-characters-0123456789ab' })
    await refused(t, to.request('/api/openapi.json'), 401, 'UNAUTHORIZED')
    const response = await to.request('/api/openapi.json', { headers: { authorization: 'Bearer a-token-of-forty-characters-0123456789ab' } })
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.match(await json(response), { openapi: /^3\.1/, info: { title: 'Ready Room', version: /^\d+\.\d+\.\d+/ }, paths: { '/api/answer': { post: {} } } })
  })

  t.test('an address that is not known is 404', async t => {
    const to = await target.open(t)
    for (const path of ['/nope', '/api', '/api/', '/api/nope', '/api/tickets/a/b', '/healthz/x', '/.well-known/oauth-authorization-server', '/index.html']) {
      await refused(t, to.request(path), 404, 'NOT_FOUND')
    }
  })

  t.test('a slash too many leads nowhere: 404, whatever the method and the body, and whoever asks', async t => {
    const to = await target.open(t, { token: 'a-token-of-forty-characters-0123456789ab' })
    for (const path of ['/api/tickets/', '/api/tickets/?', '/api/tickets//', '/api/tickets/some/', '/api//tickets', '/api/history/', '/api/answer/', '/healthz/']) {
      for (const init of [{}, { method: 'DELETE' }, { method: 'POST' }, post('{'), { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }]) {
        await refused(t, to.request(path, init), 404, 'NOT_FOUND')
      }
    }
  })

  t.test('a letter of an address is the same letter percent-encoded', async t => {
    const to = await target.open(t)
    const ticket = await enqueue(to)
    const letters = [...ticket.id].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('')
    t.strictSame(await json(to.request(`/%61p%69/t%69ckets/${letters}`)), ticket)
    t.equal((await to.request('/api%2Ftickets')).status, 404, 'a slash is not')
  })

  t.test('a known address with another method is 405 and says which it answers', async t => {
    const to = await target.open(t)
    const table: Array<[string, string[]]> = [
      ['/healthz', ['GET', 'HEAD']], ['/', ['GET', 'HEAD']], ['/api/tickets', ['GET', 'HEAD']], ['/api/tickets/some', ['GET', 'HEAD']],
      ['/api/history', ['GET', 'HEAD']], ['/api/audit', ['GET', 'HEAD']], ['/api/events', ['GET']], ['/api/openapi.json', ['GET', 'HEAD']],
      ['/api/answer', ['POST']], ['/api/undo', ['POST']],
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

  t.test('an entry of the audit log can be checked by its hash as it came, whatever fields its ticket has', async t => {
    const to = await target.open(t)
    const { id } = await enqueue(to, { options: ['yes', 'no'], context: 'one\ntwo \ud800', default_answer: 'no' })
    await to.request('/api/answer', post({ id, answer: 'yes' }))
    await to.request('/api/undo', post({ id }))
    let head = EMPTY_HEAD
    for (const entry of (await json<{ entries: AuditEntry[] }>(to.request('/api/audit'))).entries) {
      t.strictSame(checkNext(JSON.stringify(entry), head), { entry })
      head = headAt(entry)
    }
    t.equal(head.seq, 3)
  })
}
