import type { Test } from 'tap'
import type { ErrorBody } from '../../schemas/error'
import { enqueue, json, post, refused, type HttpTarget, type Init } from './http-target'

const API: Array<[string, string]> = [
  ['GET', '/api/tickets'], ['GET', '/api/tickets/some'], ['GET', '/api/history'], ['GET', '/api/audit'], ['GET', '/api/events'], ['POST', '/api/answer'], ['POST', '/api/undo']
]
const MCP: Array<[string, string]> = [['POST', '/mcp'], ['POST', '/mcp/agent']]
const TOKEN = 'a-token-of-forty-characters-0123456789ab'

export async function guards (t: Test, target: HttpTarget): Promise<void> {
  const emptyOrigin = target.seesEmptyOrigin ? [''] : []

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

  t.test('a credential that comes twice is none, though both were right', async t => {
    const to = await target.open(t, { token: TOKEN })
    for (const second of [TOKEN, 'another']) {
      for (const authorization of [[`Bearer ${TOKEN}`, `Bearer ${second}`], [`Bearer ${second}`, `Bearer ${TOKEN}`]]) {
        await refused(t, to.request('/api/tickets', { headers: { authorization } }), 401, 'UNAUTHORIZED')
      }
    }
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
      for (const origin of [...emptyOrigin, 'https://evil.example', 'null', 'https://desk.example.evil', 'https://desk.example/', 'http://desk.example', 'https://DESK.example',
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
        for (const origin of [...emptyOrigin, 'https://evil.example', 'null', `${to.origin}/`, `${to.origin}, ${to.origin}`]) {
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
