import { request as httpRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { toolCall } from '../helpers/mcp-pipes'
import { DEADLINE_MS } from '../helpers/http'
import { JSON_TYPE } from './http-target'

export interface Odd { method: string, path: string, headers: Record<string, string | string[]>, body: string | Uint8Array | undefined }

/** What a client acts on: the status, the code of the error and the headers that mean something. Sentences may be each runtime's own. */
export interface Told { status: number, code: unknown, headers: Record<string, string | undefined> }

const COMPARED = [
  'content-type', 'allow', 'www-authenticate', 'x-content-type-options', 'referrer-policy', 'content-security-policy', 'cross-origin-resource-policy', 'cache-control',
  'location', 'access-control-allow-origin'
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const POSTED = ['/api/answer', '/api/undo', '/mcp', '/mcp/agent']

const PATHS = [
  '/', '//', '/?', '/?a=1', '/?token=secret', '/index.html', '/healthz', '/healthz/', '//healthz', '/healthz?x', '/Healthz', '/healthz%00', '/favicon.ico', '/robots.txt',
  '/api', '/api/', '//api/tickets', '/api//tickets', '/api/tickets/', '/api/tickets//', '/api/tickets/?', '/api/tickets?', '/api/tickets?a', '/api/tickets?=', '/API/tickets', '/api/Tickets',
  '/api/tickets;x=1', '/api/tickets%2F', '/api/tickets%2fx', '/api%2Ftickets', '/%61pi/tickets', '/api/tickets/none', '/api/tickets/none/', '/api/tickets/none//',
  '/api/tickets/a/b', '/api/tickets/a%2Fb', '/api/tickets/%20', '/api/tickets/%00', '/api/tickets/%C3%BC', '/api/tickets/ü', '/api/tickets/%', '/api/tickets/%zz', '/api/tickets/%E0%A4%A', '/api/tickets/%FF',
  '/api/tickets/..', '/api/tickets/../history', '/api/./tickets', '/api/tickets/%2e%2e', '/api/tickets/%2e%2e/history', '/api/tickets/a?b', '/api/tickets/a;b', '/api/tickets/a,b', '/api/tickets/a+b', '/api/tickets/:id', '/api/tickets/*',
  `/api/tickets/${'x'.repeat(100)}`, `/api/tickets/${'x'.repeat(101)}`, `/api/tickets/${'%F0%9F%98%80'.repeat(100)}`, `/api/tickets/${'%F0%9F%98%80'.repeat(101)}`, `/api/tickets/${'x'.repeat(1_201)}`, `/api/tickets/${'x'.repeat(5_000)}`,
  '/api/history', '/api/history/', '/api/history?limit=1', '/api/history?limit=1&', '/api/history?&limit=1', '/api/history?limit=%31', '/api/history?limit=+1', '/api/history?limit=-1', '/api/history?limit=01', '/api/history?limit=1e1',
  '/api/history?limit=%zz', '/api/history?limit=%FF', '/api/history?%FF=1', '/api/history?limit=1;before=2', '/api/history?limit[]=1', '/api/history?limit=1&limit=1', '/api/history?__proto__=1', '/api/history?constructor=1', '/api/history?Limit=1',
  '/api/history?limit=1?', '/api/history?limit=1#x', '/api/history?before=999999999999999', '/api/history?before=9999999999999999', '/api/history?limit=', '/api/history?limit', '/api/history?limit=1%20', '/api/history?limit=%D9%A3', '/api/history?limit=null',
  '/api/audit', '/api/audit/', '/api/audit?after=0&limit=1', '/api/audit?after=-0', '/api/audit?after=1.0', '/api/audit?after=a', '/api/audit?after=999999999999999',
  '/api/events?x=1', '/api/events/', '/api/answer', '/api/answer/', '/api/undo', '/api/undo/', '/api/answer?x=1',
  '/mcp', '/mcp/', '/mcp//', '/mcp?x=1', '/mcp/agent', '/mcp/agent/', '/mcp//agent', '/mcp/agent?x=1', '/mcp/a/b', '/mcp/a%2Fb', '/mcp/%20', '/mcp/%00', '/mcp/%', '/mcp/%zz', '/mcp/%FF', '/mcp/..', '/mcp/../api/tickets', '/mcp/%2e', '/MCP', '/mcpx', '/mcp;x',
  `/mcp/${'x'.repeat(100)}`, `/mcp/${'x'.repeat(101)}`, `/mcp/${'%F0%9F%98%80'.repeat(100)}`, `/mcp/${'%F0%9F%98%80'.repeat(101)}`,
  '/internal', '/internal/tool-call', '/wp-login.php', '/.env', '/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp', '/nope/', '/%', '/%zz', '/%00', '/a\\b', '/api\\tickets', '/api/tickets\\', "/api/tickets/'", '/api/tickets/"', '/api/tickets/<x>', '/api/tickets/|', '/api/tickets/^', '/api/tickets/`', '/api/tickets/{}', '/api/tickets/[x]', '/api/tickets/~'
]

const HEADERS: Array<Record<string, string>> = [
  { accept: 'text/html' }, { accept: 'image/png' }, { accept: '' }, { accept: 'text/event-stream' }, { accept: 'garbage' }, { 'accept-encoding': 'gzip' }, { 'accept-encoding': 'identity;q=0' }, { range: 'bytes=0-1' }, { range: 'bytes=9-1' },
  { 'if-none-match': '*' }, { 'if-none-match': '"x"' }, { 'if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' }, { 'if-match': '"x"' }, { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
  { 'x-forwarded-host': 'evil.example' }, { 'x-forwarded-proto': 'https' }, { forwarded: 'host=evil.example' }, { 'x-http-method-override': 'DELETE' }, { 'x-original-url': '/api/tickets' }, { cookie: 'a=b' }, { referer: 'https://evil.example/' },
  { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'Same-Origin' }, { origin: 'null' }, { origin: 'https://evil.example' }, { authorization: '' }, { authorization: 'Basic x' }, { authorization: 'Bearer' },
  { 'content-type': 'text/plain' }, { 'content-type': 'application/json' }, { 'access-control-request-method': 'POST' }, { expect: '100-continue' }, { upgrade: 'h2c', connection: 'upgrade' }, { te: 'trailers' }, { 'last-event-id': 'x' }, { 'mcp-session-id': 'stale' }, { 'content-encoding': 'gzip' }, { 'content-encoding': 'identity' }
]

const JSON_TYPES = ['application/json', 'application/json;', 'application/json;charset', 'application/json; charset=latin1', 'application/json; charset=utf-16', 'APPLICATION/JSON', ' application/json', 'application/json,text/plain',
  'application/json application/json', 'text/json', 'application/vnd.api+json', 'application/json;;', 'application/json; boundary=x', '', 'application', 'application/', '/json', '*/*']

const BODIES = [
  '', ' ', '\n', '{}', '[]', 'null', 'true', '1', '"x"', '{', '{"id":"none"', '{"id":"none"}x', '{"id":"none"} ', '\uFEFF{"id":"none"}', '\uFEFF', '{"id":"none","id":"other"}', '{"id":"none","answer":"yes"}', '{"id":"none",}', '{"id":NaN}', '{"id":1e999}',
  '{"id":"\\ud800"}', '{"id":"\\u0000"}', '{"id":"none","answer":"\\ud800"}', '{"__proto__":{}}', '{"constructor":1}', '{"constructor":{"prototype":{}}}', '{"id":{"__proto__":1}}', '{"id":"none","answer":"x","answered_by":""}', '{"id":"none","answer":"x","answered_by":" "}', '{"id":"none","answer":"x","answered_by":"a\\nb"}',
  '{"id":"none","answer":"yes","extra":{"a":[1,2,{"b":null}]}}', '[{"id":"none"}]', '/* c */{"id":"none"}', "{'id':'none'}", '{"ID":"none"}', '['.repeat(10_000), `{"id":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, `{"id":"${'x'.repeat(1_048_000)}"}`, `{"id":"${'x'.repeat(1_048_577)}"}`
]

const RPC: unknown[] = [
  {}, [], { jsonrpc: '2.0' }, { jsonrpc: '2.0', id: 1 }, { jsonrpc: '2.0', method: 'ping' }, { jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '1.0', id: 1, method: 'ping' }, { id: 1, method: 'ping' }, { jsonrpc: '2.0', id: null, method: 'ping' },
  { jsonrpc: '2.0', id: 1.5, method: 'ping' }, { jsonrpc: '2.0', id: '', method: 'ping' }, { jsonrpc: '2.0', id: {}, method: 'ping' }, { jsonrpc: '2.0', id: 1, method: 'nope' }, { jsonrpc: '2.0', id: 1, method: '' }, { jsonrpc: '2.0', id: 1, method: 5 }, { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, { jsonrpc: '2.0', id: 1, method: 'ping', params: null },
  { jsonrpc: '2.0', id: 1, result: {} }, { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }, { jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'x' } },
  { jsonrpc: '2.0', id: 1, method: 'resources/list' }, { jsonrpc: '2.0', id: 1, method: 'initialize' }, { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }, { jsonrpc: '2.0', id: 1, method: 'server/discover' },
  toolCall(1, 'nope'), toolCall(1, 'ask_human'), toolCall(1, 'ask_human', { question: '' }), toolCall(1, 'ask_human', { question: 5 }), toolCall(1, 'ask_human', { question: 'x', options: ['a'] }), toolCall(1, 'ask_human', { question: 'x', more: 1 }), toolCall(1, 'ask_human', { question: 'x', timeout_seconds: 0 }),
  toolCall(1, 'wait_for_answer', { id: 'none' }), toolCall(1, 'wait_for_answer', {}), toolCall(1, 'cancel_ticket', { id: 'none' }), toolCall(1, 'list_pending'), toolCall(1, 'list_pending', { x: 1 })
]

/** Requests that no client of ours sends, and that scanners, broken programs and other people's tools do. None of them changes a ticket. */
export function oddRequests (origin: string, token: string): Odd[] {
  const own = { origin, authorization: `Bearer ${token}` }
  const odd = (method: string, path: string, headers: Odd['headers'] = {}, body?: string | Uint8Array): Odd => ({ method, path, headers: { ...own, ...headers }, body })
  return [
    ...PATHS.flatMap(path => ['GET', 'HEAD', 'POST', 'DELETE'].map(method => odd(method, path, method === 'POST' ? JSON_TYPE : {}, method === 'POST' ? '{}' : undefined))),
    ...PATHS.filter(path => /\/$|\/\//.test(path)).flatMap(path => METHODS.map(method => ({ ...odd(method, path), headers: {} }))),
    ...['/', '/healthz', '/api/tickets', '/api/answer', '/api/events', '/mcp/agent', '/nope'].flatMap(path => ['PUT', 'PATCH', 'OPTIONS', 'PROPFIND', 'QUERY', 'SEARCH', 'LOCK', 'M-SEARCH', 'LINK', 'TRACE'].map(method => odd(method, path))),
    ...['/', '/healthz', '/api/tickets', '/nope'].flatMap(path => HEADERS.map(headers => odd('GET', path, headers))),
    ...['/api/undo', '/mcp/agent'].flatMap(path => HEADERS.map(headers => odd('POST', path, { ...JSON_TYPE, ...headers }, '{"id":"none"}'))),
    ...POSTED.flatMap(path => JSON_TYPES.map(type => odd('POST', path, { 'content-type': type }, '{"id":"none"}'))),
    ...POSTED.flatMap(path => [odd('POST', path, JSON_TYPE), odd('POST', path), odd('POST', path, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, '{"id":"none"}'), odd('POST', path, { ...JSON_TYPE, 'transfer-encoding': 'chunked' })]),
    ...POSTED.flatMap(path => BODIES.map(body => odd('POST', path, JSON_TYPE, body))),
    ...['/api/undo', '/mcp'].flatMap(path => [[0xFF, 0xFE], [0xEF, 0xBB, 0xBF, 0x7B, 0x7D], [0x7B, 0x00, 0x7D], [0xFE, 0xFF, 0x00, 0x7B], [0x22, 0xC3, 0x22]].map(bytes => odd('POST', path, JSON_TYPE, Uint8Array.from(bytes)))),
    ...['origin', 'authorization', 'sec-fetch-site', 'content-type', 'accept', 'mcp-protocol-version'].flatMap(name => {
      const first = { ...own, ...JSON_TYPE, 'sec-fetch-site': 'same-origin', accept: 'application/json', 'mcp-protocol-version': '2025-11-25' }[name]!
      return ['x', first].flatMap(second => [odd('GET', '/api/tickets', { [name]: [first, second] }), odd('POST', '/api/undo', { ...JSON_TYPE, [name]: [first, second] }, '{"id":"none"}'),
        odd('POST', '/mcp', { ...JSON_TYPE, [name]: [first, second] }, JSON.stringify(RPC[5]))])
    }),
    ...['http://127.0.0.1/healthz', 'http://evil.example/api/tickets', 'https://evil.example/'].flatMap(path => [odd('GET', path), odd('OPTIONS', path)]),
    ...['/api/tickets', '/mcp/agent'].map(path => odd('GET', path, { ...JSON_TYPE, 'content-length': '2' }, '{}')),
    ...['application/json', 'text/event-stream', 'application/json, text/event-stream', 'text/html', '*/*'].flatMap(accept => RPC.map(message => odd('POST', '/mcp/agent', { ...JSON_TYPE, accept }, JSON.stringify(message)))),
    ...['2025-11-25', '2026-07-28', '1999-01-01', 'x', ''].flatMap(version => RPC.slice(0, 27).map(message => odd('POST', '/mcp/agent', { ...JSON_TYPE, accept: 'application/json', 'mcp-protocol-version': version }, JSON.stringify(message))))
  ]
}

/** Sends one as it is: no part of its address is tidied on the way. */
export async function tellOf (origin: string, { method, path, headers, body }: Odd): Promise<Told> {
  const { hostname, port } = new URL(origin)
  const request = httpRequest({ hostname, port, path, method, headers, agent: false, signal: AbortSignal.timeout(DEADLINE_MS) })
  request.end(body)
  const [response] = await once(request, 'response') as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  const told = Object.fromEntries(COMPARED.map(name => [name, response.headers[name]?.toString()]))
  return { status: response.statusCode!, code: codeOf(text), headers: told }
}

/** Ours, that of JSON-RPC, or whether the tool failed. */
function codeOf (text: string): unknown {
  try {
    const { error, result } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
    return error?.code ?? error ?? result?.isError
  } catch { return undefined }
}
