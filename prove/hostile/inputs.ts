import fc from 'fast-check'
import { changed, sent, spell, type Json } from './values'

/** One thing that is sent. `@ID0@` to `@ID9@` in it stand for tickets that there are by then. */
export type Input = {
  kind: 'http'
  method: string
  path: string
  headers: Record<string, string | string[]>
  body: Buffer | undefined
} | { kind: 'raw', bytes: Buffer }

export interface Setting { port: number, origin: string, token: string | undefined, callKey: string }

const ids = fc.oneof({ weight: 8, arbitrary: fc.nat(9).map(n => `@ID${n}@`) },
  { weight: 1, arbitrary: fc.constantFrom('00000000-0000-7000-8000-000000000000', 'x'.repeat(100), '__proto__', '\0', '\ud800') })
const text = fc.oneof(fc.string({ minLength: 1, maxLength: 40 }), fc.constantFrom('Go on?', '"', '<img src=x onerror=alert(1)>', 'ja 😀', 'a'.repeat(16_384), '😀'.repeat(2_000)))

const askArguments = fc.record({
  question: text,
  options: fc.constantFrom<Json>(['yes', 'no'], '["a","b","c"]', '', ['a', 'b', 'c', 'd', 'e']),
  context: fc.oneof({ weight: 20, arbitrary: fc.constantFrom('', 'one\ntwo', '\u0001'.repeat(500)) }, { weight: 1, arbitrary: fc.constant('c'.repeat(65_536)) }),
  default_answer: text,
  timeout_seconds: fc.constantFrom(1, 60, 86_400),
  urgency: fc.constantFrom('low', 'normal', 'blocking'),
  stream: fc.constantFrom('agent', 'ein Strom', '😀', 'a/b')
}, { requiredKeys: ['question'] }) as fc.Arbitrary<Json>

const toolCall: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: askArguments.map(args => ({ name: 'ask_human', arguments: args })) },
  { weight: 2, arbitrary: ids.map(id => ({ name: 'wait_for_answer', arguments: { id, timeout_seconds: 0 } })) },
  { weight: 1, arbitrary: fc.constant({ name: 'list_pending', arguments: {} }) },
  { weight: 2, arbitrary: ids.map(id => ({ name: 'cancel_ticket', arguments: { id } })) })

/** What the era without a session sends with each message. */
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'hostile', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {}
}

const envelope: fc.Arbitrary<{ message: Json, headers: Record<string, string> }> = fc.record({
  call: toolCall,
  era: fc.constantFrom('old', 'old', 'new', 'mixed'),
  method: fc.oneof({ weight: 4, arbitrary: fc.constant('tools/call') }, {
    weight: 1,
    arbitrary: fc.constantFrom('tools/list', 'initialize', 'ping', 'server/discover', 'notifications/initialized', 'notifications/cancelled', 'resources/list',
      'subscriptions/listen', 'logging/setLevel')
  }),
  id: fc.constantFrom<Json>(1, 'a', 0, -1, '😀')
}).map(({ call, era, method, id }) => {
  const params: Record<string, Json> = method === 'tools/call'
    ? call as Record<string, Json>
    : method === 'initialize'
      ? { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'hostile', version: '1' } }
      : {}
  const name = String(params['name'] ?? '')
  const isNew = era !== 'old'
  return {
    message: { jsonrpc: '2.0', ...(!method.startsWith('notifications/') && { id }), method, params: { ...params, ...(isNew && { _meta: META }) } },
    headers: era === 'new' ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) } : { 'mcp-protocol-version': '2025-11-25' }
  }
})

/** A header's value that does not belong there. Node's client sends Latin-1 without control characters. */
const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(...Object.entries({
  'content-type': ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16', 'application/json;', 'APPLICATION/JSON', 'x', 'application/json, text/plain'],
  accept: ['text/event-stream', 'application/json', '*/*', 'x', 'text/event-stream;q=0', 'application/json, text/event-stream'],
  origin: ['null', 'https://evil.example', 'http://localhost', 'x', 'http://127.0.0.1:1', 'file://'],
  host: ['evil.example', '127.0.0.1', 'localhost:1', '[::1', 'x@127.0.0.1', '127.0.0.1:99999', 'ÿ'],
  'sec-fetch-site': ['cross-site', 'same-site', 'none', 'same-origin', 'x'],
  'mcp-protocol-version': ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05', '1999-01-01', 'x'.repeat(5_000), 'ÿ'],
  'mcp-session-id': ['stale', '00000000-0000-0000-0000-000000000000', 'x'.repeat(3_000), 'ÿ'],
  'mcp-method': ['tools/call', 'tools/list', 'x', 'ÿ', '__proto__', '=?base64?eA==?='],
  'mcp-name': ['ask_human', 'x', '=?base64?%%%?=', '=?base64?w6k=?=', 'ÿ'],
  'last-event-id': ['0', '-1', '99999999999999999999', 'x', '1e3', '5'],
  authorization: ['Bearer', 'Bearer x', 'Basic eDp5', 'Readyroom x', 'bearer  x', 'ÿ', 'Bearer ' + 'x'.repeat(10_000)],
  'content-encoding': ['gzip', 'br', 'identity', 'x', 'gzip, gzip'],
  expect: ['100-continue', 'x', '100-continue, x', ''],
  'if-none-match': ['*', '"x"', 'x', 'W/"x"'],
  'if-match': ['*', '"x"'],
  'if-modified-since': ['x', 'Thu, 01 Jan 1970 00:00:00 GMT', 'Thu, 01 Jan 2099 00:00:00 GMT'],
  range: ['bytes=0-', 'bytes=9-1', 'bytes=0-1,3-4', 'x'],
  upgrade: ['websocket', 'h2c'],
  'accept-encoding': ['br', 'gzip;q=0', '*;q=0', 'x', 'identity;q=0, *;q=0'],
  'accept-version': ['1.0.0', 'x', '*'],
  'x-forwarded-for': ['127.0.0.1', 'x', '::1, 1.2.3.4'],
  forwarded: ['for=127.0.0.1', 'x'],
  'x-http-method-override': ['POST', 'DELETE'],
  te: ['trailers', 'x'],
  cookie: ['__proto__=x', 'x'.repeat(8_000)],
  'x-readyroom-nonce': ['x', 'x'.repeat(16), 'x'.repeat(300), 'ÿ'.repeat(20)]
}).map(([name, values]) => fc.constantFrom(...values).map(value => ({ [name]: value }))))

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH', 'PURGE', 'LINK', 'SOURCE']
const TAILS = ['', '/', '//', '?', '?x=1', '?limit=1', '?limit=x', '?before=1&before=2', '?__proto__=1', '?after=99999999999', '?%', '?token=x', '/%2e%2e', '/..', '/%00', '/%', '/%ff', '/a/b', ';x', '%2F',
  '/%F0%9F%98%80', '#x', '?a[b]=c', `?${'x'.repeat(5_000)}`, `/${'y'.repeat(1_300)}`, '?limit=5&after=0', '?limit=200', '.', '%20']
const ROUTES = ['/', '/healthz', '/api', '/api/tickets', '/api/tickets/@ID1@', '/api/history', '/api/audit', '/api/events', '/api/answer', '/api/undo', '/mcp', '/mcp/agent', '/mcp/%F0%9F%98%80',
  '/internal', '/internal/identity', '/internal/prove', '/internal/status', '/internal/join', '/internal/tool-call', '/index.html', '/favicon.ico', '/..', '*', '/api/../healthz', '//evil.example/', '/mcp/a%2Fb']

interface Draft { method: string, path: string, headers: Record<string, string>, body: Json | undefined }

/** What is right, before anything is done to it. */
function drafts ({ origin, token, callKey }: Setting): fc.Arbitrary<Draft> {
  const common: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const json = { ...common, 'content-type': 'application/json' }
  const client = { authorization: `Readyroom ${callKey}`, 'content-type': 'application/json', 'x-readyroom-nonce': 'n'.repeat(24) }
  const post = (path: string, body: fc.Arbitrary<Json>): fc.Arbitrary<Draft> => body.map(body => ({ method: 'POST', path, headers: json, body }))
  return fc.oneof(
    {
      weight: 16,
      arbitrary: fc.record({ envelope, path: fc.constantFrom('/mcp/agent', '/mcp', '/mcp/ein%20Strom') }).map(({ envelope: { message, headers }, path }) =>
        ({ method: 'POST', path, headers: { ...json, origin, accept: 'application/json, text/event-stream', ...headers }, body: message }))
    },
    { weight: 5, arbitrary: post('/api/answer', fc.record({ id: ids, answer: text, answered_by: fc.string({ maxLength: 80 }) }, { requiredKeys: ['id', 'answer'] })) },
    { weight: 3, arbitrary: post('/api/undo', fc.record({ id: ids })) },
    {
      weight: 2,
      arbitrary: fc.oneof(
        askArguments.map(ask => ({ tool: 'ask_human', ask: { stream: 'agent', ...ask as object } })),
        fc.record({ tool: fc.constantFrom('cancel_ticket', 'wait_for_answer'), id: ids, wait_ms: fc.constant(0) }),
        fc.constant({ tool: 'list_pending' })
      ).map(body => ({ method: 'POST', path: '/internal/tool-call', headers: client, body: body as Json }))
    },
    { weight: 1, arbitrary: fc.string({ minLength: 16, maxLength: 40 }).map(nonce => ({ method: 'POST', path: '/internal/prove', headers: { 'content-type': 'application/json' }, body: { nonce } })) },
    {
      weight: 4,
      arbitrary: fc.record({ method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', ...METHODS), path: fc.constantFrom(...ROUTES), tail: fc.constantFrom('', ...TAILS) })
        .map(({ method, path, tail }) => ({ method, path: path + tail, headers: common, body: undefined }))
    })
}

/** A request as bytes, for what no client of Node's would send. */
function bytesOf ({ port }: Setting, { method, path, headers, body }: Draft, payload: Buffer): Buffer {
  const target = path.replace(/[^\x21-\x7e]/g, '%')
  const head = Object.entries({ host: `127.0.0.1:${port}`, ...headers, ...(body !== undefined && { 'content-length': String(payload.length) }), connection: 'close' })
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`, 'latin1'), payload])
}

/** Bytes with something done to the head: what separates requests is in it. */
const RAW: Array<[RegExp, string]> = [
  [/HTTP\/1\.1/, 'HTTP/1.0'], [/HTTP\/1\.1/, 'HTTP/2.0'], [/HTTP\/1\.1/, 'HTTP/9'], [/\r\n/g, '\n'], [/: /, ' : '], [/: /, ':\0'], [/\r\n/, '\r\n folded\r\n'], [/ /, '  '], [/^/, '\r\n\r\n'],
  [/^\w+/, 'get'], [/^\w+/, 'CONNECT'], [/^\w+/, 'PRI'], [/host: /, 'host: evil.example\r\nhost: '], [/host: [^\r]*\r\n/, ''], [/origin: /, 'origin: https://evil.example\r\norigin: '],
  [/content-length: \d+/, 'content-length: 0'], [/content-length: \d+/, 'content-length: -1'], [/content-length: \d+/, 'content-length: 5, 5'], [/content-length: \d+/, 'content-length: 99999999999999999999'],
  [/content-length: (\d+)/, 'content-length: $1\r\ncontent-length: 1'], [/content-length: (\d+)/, 'content-length: $1\r\ntransfer-encoding: chunked'], [/content-length: \d+/, 'transfer-encoding: chunked'],
  [/content-length: \d+/, 'transfer-encoding: gzip, chunked'], [/content-length: \d+/, 'transfer-encoding: xchunked'], [/content-type: [^\r]*/, 'content-type: application/json\r\ncontent-type: text/plain'],
  [/ (\/\S*)/, ' http://127.0.0.1$1'], [/ (\/\S*)/, ' http://evil.example$1'], [/ \/\S*/, ' *'], [/ \/\S*/, ' /\xff\xfe'], [/$/, '']
]

export function inputs (setting: Setting): fc.Arbitrary<Input> {
  return drafts(setting).chain(draft => fc.record({
    body: draft.body === undefined
      ? fc.constant(undefined)
      : fc.oneof({ weight: 6, arbitrary: fc.constant(draft.body) }, { weight: 5, arbitrary: changed(draft.body) }),
    odd: fc.oneof(
      { weight: 16, arbitrary: fc.constant({}) },
      { weight: 3, arbitrary: oddHeaders },
      { weight: 1, arbitrary: fc.tuple(oddHeaders, oddHeaders).map(([a, b]) => ({ ...a, ...b })) }),
    method: fc.oneof({ weight: 30, arbitrary: fc.constant(draft.method) }, { weight: 1, arbitrary: fc.constantFrom(...METHODS) }),
    tail: fc.oneof({ weight: 30, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom(...TAILS) }),
    raw: fc.oneof(
      { weight: 5, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.record({ how: fc.constantFrom(...RAW), cut: fc.option(fc.nat(400)), byte: fc.nat(255) }) })
  }).chain(({ body, odd, method, tail, raw }) => (body === undefined ? fc.constant(Buffer.alloc(0)) : sent(spell(body))).map((payload): Input => {
    const changedDraft = { ...draft, method, path: draft.path + tail, headers: { ...draft.headers, ...odd }, body }
    if (raw === null) return { kind: 'http', method, path: changedDraft.path, headers: changedDraft.headers, body: body === undefined ? undefined : payload }
    const whole = bytesOf(setting, changedDraft, payload)
    const end = whole.indexOf('\r\n\r\n')
    const head = whole.subarray(0, end + 4).toString('latin1').replace(raw.how[0], raw.how[1])
    const bytes = Buffer.concat([Buffer.from(head, 'latin1'), whole.subarray(end + 4)])
    if (raw.cut !== null && raw.byte % 4 === 0) bytes[raw.cut % bytes.length] = raw.byte
    return { kind: 'raw', bytes: raw.cut !== null && raw.byte % 4 === 1 ? bytes.subarray(0, raw.cut) : bytes }
  })))
}
