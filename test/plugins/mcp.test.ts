import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { MemoryTicketStore } from '../../lib/memory-store'
import { OWNER } from '../../lib/principal'
import { mcpContract } from '../contract/mcp'
import { startMcpApp, untilWaiting, type McpApp } from '../helpers/mcp-app'
import { connectHttp } from '../helpers/mcp-clients'
import { initialize, toolCall } from '../helpers/mcp-pipes'

const BOTH = 'application/json, text/event-stream'
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
const modernHeaders = (name: string): Record<string, string> =>
  ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name })

const start = async (t: Test, options: Parameters<typeof startMcpApp>[0] = {}): Promise<McpApp> => {
  const app = await startMcpApp(options)
  t.teardown(app.close)
  return app
}

function post (url: string, body: unknown, headers: Record<string, string | undefined> = {}, signal?: AbortSignal): Promise<Response> {
  const all: Record<string, string | undefined> = { 'content-type': 'application/json', accept: BOTH, ...headers }
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return fetch(url, { method: 'POST', headers: given, body: text, ...(signal && { signal }) })
}

/** The messages of a response, of whichever kind it is. */
async function messages (response: Response): Promise<Array<Record<string, unknown>>> {
  const text = await response.text()
  if (response.headers.get('content-type')?.startsWith('application/json')) return [JSON.parse(text)]
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!))
}

t.test('over HTTP', async t => mcpContract(t, async t => {
  const { url, desk } = await start(t, { progressMs: 15 })
  return {
    connect: (era, stream = 'http') => connectHttp(t, era, `${url}/${encodeURIComponent(stream)}`),
    answer: async (id, text) => { await desk.answer(id, text, OWNER) },
    untilWaiting: count => untilWaiting(desk, count),
    cancels: era => era === 'modern',
    hasFastProgress: true
  }
}))

t.test('whatever kinds of response a client names, it gets one that it can read', async t => {
  const { url, desk } = await start(t, { progressMs: 15 })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const [json, stream] = ['application/json', 'text/event-stream']
  const cases: Array<[accept: string | undefined, list: string, wait: string]> = [
    [BOTH, json, stream],
    ['text/event-stream;q=0.5, application/json', json, stream],
    [json, json, json],
    [stream, stream, stream],
    ['*/*', json, json],
    ['text/html', json, json],
    ['', json, json]
  ]
  for (const [accept, forList, forWait] of cases) {
    for (const _meta of [undefined, META]) {
      const wait = toolCall(2, 'wait_for_answer', { id, timeout_seconds: 0.06 }, { progressToken: 'p', ..._meta })
      const response = await post(`${url}/x`, wait, { accept, ...(_meta && modernHeaders('wait_for_answer')) })
      t.equal(response.status, 200, `${accept}, ${_meta ? 'modern' : 'legacy'}`)
      t.match(response.headers.get('content-type'), forWait)
      const got = await messages(response)
      t.match(got.at(-1), { id: 2, result: { structuredContent: { id, status: 'pending' } } })
      t.equal(got.length > 1, forWait === stream, 'progress comes where there is room for it')
      const list = await post(`${url}/x`, toolCall(3, 'list_pending', {}, _meta), { accept, ...(_meta && modernHeaders('list_pending')) })
      t.match(list.headers.get('content-type'), forList)
      t.match(await messages(list), [{ id: 3, result: { structuredContent: { tickets: [{ id }] } } }])
    }
  }
})

t.test('a client that sends no Accept at all is served with JSON', async t => {
  const { app } = await start(t)
  const response = await app.inject({ method: 'POST', url: '/mcp/x', headers: { 'content-type': 'application/json' }, payload: initialize(1) })
  t.match(response.json(), { id: 1, result: { protocolVersion: '2025-11-25', serverInfo: { name: 'readyroom' } } })
})

t.test('the response to a wait begins at once', async t => {
  const { url, desk } = await start(t)
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const response = await post(`${url}/x`, toolCall(1, 'wait_for_answer', { id }))
  t.match(response.headers.get('content-type'), 'text/event-stream')
  t.equal(response.headers.get('x-accel-buffering'), 'no')
  t.equal(desk.waiting, 1, 'the headers are there while the wait goes on')
  await desk.answer(id, 'yes', OWNER)
  t.match(await messages(response), [{ id: 1, result: { structuredContent: { answer: 'HUMAN ANSWER: yes' } } }])
})

t.test('no session is held: a stale id is ignored and not echoed, and a call needs no initialize', async t => {
  const { url } = await start(t)
  for (const message of [toolCall(1, 'list_pending'), initialize(1)]) {
    const response = await post(`${url}/x`, message, { 'mcp-session-id': 'from-before-the-restart', 'mcp-protocol-version': '2025-06-18' })
    t.equal(response.status, 200)
    t.equal(response.headers.get('mcp-session-id'), null)
    t.match(await messages(response), [{ id: 1, result: {} }])
  }
})

t.test('a notification is accepted and has no answer', async t => {
  const { url } = await start(t)
  const response = await post(`${url}/x`, { jsonrpc: '2.0', method: 'notifications/initialized' })
  t.equal(response.status, 202)
  t.equal(await response.text(), '')
})

t.test('what is no message is refused in JSON-RPC, and a batch is', async t => {
  const { url } = await start(t)
  const cases: Array<[body: string | Uint8Array, code: number]> = [
    ['', -32700], ['{"jsonrpc":"2.0","id":1,"met', -32700], ['hello', -32700], [new Uint8Array([0x22, 0xff, 0x22]), -32700],
    ['[]', -32600], [JSON.stringify([initialize(1)]), -32600], ['5', -32600], ['null', -32600], ['{}', -32600], ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600]
  ]
  for (const [body, code] of cases) {
    const response = await post(`${url}/x`, body)
    t.equal(response.status, 400, String(body))
    t.match(await response.json(), { jsonrpc: '2.0', error: { code, message: /\S/ } })
  }
})

t.test('arguments that are null are none, and a field named __proto__ is one like another', async t => {
  const { url } = await start(t)
  const call = (args: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_pending","arguments":${args}}}`
  t.match(await messages(await post(url, call('null'))), [{ result: { structuredContent: { tickets: [] } } }])
  await post(url, call('{"__proto__":{"polluted":true}}'))
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

t.test('a body over 1 MiB and a body that is not JSON by its type are refused in the shape of every refusal', async t => {
  const { url, desk } = await start(t)
  const most = `${JSON.stringify(toolCall(1, 'list_pending'))}`.padEnd(1_048_576)
  t.equal((await post(url, most)).status, 200, 'exactly 1 MiB passes')
  const large = await post(url, most + ' ')
  t.equal(large.status, 413)
  t.match(await large.json(), { error: 'TOO_LARGE', message: /1 MiB/ })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
    const response = await post(url, toolCall(1, 'list_pending'), { 'content-type': type })
    t.equal(response.status, 415, type)
    t.match(await response.json(), { error: 'UNSUPPORTED_MEDIA_TYPE' })
  }
  t.equal((await post(url, toolCall(1, 'list_pending'), { 'content-type': 'application/json; charset=utf-8' })).status, 200)
  t.equal(desk.pendingCount, 0)
})

t.test('other methods are 405 and say which one is allowed', async t => {
  const { url } = await start(t)
  for (const path of ['', '/', '/agent']) {
    for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS', 'HEAD']) {
      const response = await fetch(url + path, { method, headers: { accept: 'text/event-stream' } })
      t.equal(response.status, 405, `${method} ${path}`)
      t.equal(response.headers.get('allow'), 'POST')
      if (method !== 'HEAD') t.match(await response.json(), { error: 'METHOD_NOT_ALLOWED' })
    }
  }
})

t.test('the stream of the path is percent-decoded, up to its hundred characters', async t => {
  const { url, desk } = await start(t)
  const streams = ['plain', 'two words', 'Zürich', 'a%b', 'q?#&', '..;', 'name/part', '/', '😀'.repeat(100)]
  for (const stream of streams) {
    const [message] = await messages(await post(`${url}/${encodeURIComponent(stream)}`, toolCall(1, 'ask_human', { question: '?' })))
    t.match(message, { result: { structuredContent: { status: 'pending' } } }, stream.slice(0, 10))
  }
  t.strictSame((await desk.pending()).tickets.map(({ stream }) => stream), streams)
})

t.test('a path that names no stream that could be is refused, and says why', async t => {
  const { url, desk } = await start(t)
  const cases: Array<[path: string, message: RegExp]> = [
    ['/%zz', /percent-encoding/], ['/%ff', /percent-encoding/], ['/' + 'x'.repeat(101), /at most 100 characters; got 101/],
    ['/' + 'x'.repeat(3_000), /at most 100 characters; got 3,000/], ['/a%00b', /control characters/], ['/a%0ab', /control characters/],
    ['/%20', /blank/]
  ]
  for (const [path, message] of cases) {
    const response = await post(url + path, toolCall(1, 'ask_human', { question: '?' }))
    t.equal(response.status, 400, path.slice(0, 20))
    t.match(await response.json(), { error: 'BAD_REQUEST', message })
  }
  t.equal(desk.pendingCount, 0)
})

t.test('a path of more than one segment is no address, and says how a slash is written', async t => {
  const { url, desk } = await start(t)
  for (const path of ['/a/b', '/a/', '//', '/a//b?x=/']) {
    const response = await post(url + path, toolCall(1, 'ask_human', { question: '?' }))
    t.equal(response.status, 404, path)
    t.match(await response.json(), { error: 'NOT_FOUND', message: /%2F/ })
  }
  t.equal(desk.pendingCount, 0)
})

t.test('without a stream in the path the argument is needed, and the refusal names both ways', async t => {
  const { url, desk } = await start(t)
  for (const path of ['', '/']) {
    const [message] = await messages(await post(url + path, toolCall(1, 'ask_human', { question: '?' })))
    t.match(message, { result: { isError: true, content: [{ text: /stream argument of ask_human.+POST \/mcp\/\{stream\}/ }] } })
    await post(url + path, toolCall(1, 'ask_human', { question: '?', stream: 'given' }))
  }
  t.strictSame((await desk.pending()).tickets.map(({ stream }) => stream), ['given', 'given'])
})

t.test('a client that goes frees its wait, whatever kind of response it had', async t => {
  const { url, desk } = await start(t)
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  for (const accept of [BOTH, 'application/json']) {
    for (const _meta of [undefined, META]) {
      const gone = new AbortController()
      const wait = post(`${url}/x`, toolCall(1, 'wait_for_answer', { id }, _meta), { accept, ...(_meta && modernHeaders('wait_for_answer')) }, gone.signal)
      const read = wait.then(response => response.text())
      read.catch(() => {})
      await untilWaiting(desk, 1)
      gone.abort()
      await t.rejects(read)
      await untilWaiting(desk, 0)
      t.pass(`${accept}, ${_meta ? 'modern' : 'legacy'}`)
    }
  }
})

t.test('a client that is gone before its body is whole leaves nothing', async t => {
  const { url, desk } = await start(t)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write('POST /mcp/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"jsonrpc":')
  socket.destroy()
  await once(socket, 'close')
  t.match(await messages(await post(url, toolCall(1, 'list_pending'))), [{ id: 1 }])
  t.equal(desk.pendingCount, 0)
})

t.test('close answers every open wait with the ticket as it stands, and then ends', async t => {
  const { url, desk, close } = await start(t)
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const waits = Array.from({ length: 20 }, async (_, n) => {
    const _meta = n % 2 === 0 ? META : undefined
    const accept = n % 4 < 2 ? BOTH : 'application/json'
    return messages(await post(`${url}/x`, toolCall(n, 'wait_for_answer', { id }, _meta), { accept, ...(_meta && modernHeaders('wait_for_answer')) }))
  })
  await untilWaiting(desk, 20)
  const before = performance.now()
  await close()
  t.ok(performance.now() - before < 2_000)
  const answers = await Promise.all(waits)
  for (const [n, answer] of answers.entries()) t.match(answer, [{ id: n, result: { structuredContent: { id, status: 'pending' } } }])
  t.equal(desk.waiting, 0)
})

t.test('what nobody foresaw is -32603, with its text in the log alone', async t => {
  const store = new MemoryTicketStore()
  const { url, errors } = await start(t, { store })
  store.list = async () => { throw new Error('the secret inside') }
  for (const _meta of [undefined, META]) {
    const response = await post(`${url}/x`, toolCall(1, 'list_pending', {}, _meta), _meta && modernHeaders('list_pending'))
    const text = await response.text()
    t.match(JSON.parse(text), { id: 1, error: { code: -32603, message: /standard error/ } })
    t.notMatch(text, /secret/)
  }
  t.match(errors, [{ tool: 'list_pending', err: { message: 'the secret inside' } }, {}])
})

t.test('headers of the new era that contradict the body are refused as its revision says', async t => {
  const { url } = await start(t)
  const call = toolCall(1, 'list_pending', {}, META)
  const mismatch = await post(url, call, { ...modernHeaders('ask_human') })
  t.equal(mismatch.status, 400)
  t.match(await mismatch.json(), { id: 1, error: { code: -32020 } })
  const unknown = await post(url, toolCall(1, 'list_pending', {}, { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }),
    { ...modernHeaders('list_pending'), 'mcp-protocol-version': '2099-01-01' })
  t.equal(unknown.status, 400)
  t.match(await unknown.json(), { id: 1, error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } } })
})

t.test('a client that is gone before its call begins is not waited for', async t => {
  const arrived = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const { url, desk } = await start(t, {
    async hold ({ raw }) {
      arrived.resolve()
      await once(raw, 'close')
      left.resolve()
    }
  })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const gone = new AbortController()
  const call = post(`${url}/x`, toolCall(1, 'wait_for_answer', { id }), {}, gone.signal)
  call.catch(() => {})
  await arrived.promise
  gone.abort()
  await t.rejects(call)
  await left.promise
  // By then the call has begun, had it been let begin.
  for (let n = 0; n < 5; n++) await new Promise(resolve => setImmediate(resolve))
  t.equal(desk.waiting, 0)
})
