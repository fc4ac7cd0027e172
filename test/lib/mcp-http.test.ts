import t from 'tap'
import { Desk } from '../../lib/desk'
import { createMcpHttp, type McpPost, type McpReply } from '../../lib/mcp-http'
import { MemoryTicketStore } from '../../lib/memory-store'
import { untilWaiting } from '../helpers/mcp-app'
import { toolCall } from '../helpers/mcp-pipes'

const BOTH = 'application/json, text/event-stream'

interface Face {
  desk: Desk
  post (message: object, headers?: Record<string, string>, more?: Partial<McpPost>): Promise<McpReply>
}

async function open (): Promise<Face> {
  const desk = await new Desk(new MemoryTicketStore()).open()
  const answer = createMcpHttp({ desk, version: '1.2.3' })
  return {
    desk,
    post: (message, headers = { accept: BOTH }, more = {}) => answer({
      url: 'http://localhost/mcp/x',
      header: name => headers[name],
      body: new TextEncoder().encode(JSON.stringify(message)),
      stream: 'x',
      signal: new AbortController().signal,
      ...more
    })
  }
}

// No Fastify and no socket here: what a Worker would run.

t.test('a short call has a text of JSON, and a wait a stream', async t => {
  const { post, desk } = await open()
  const list = await post(toolCall(1, 'list_pending'))
  t.match(list, { status: 200, headers: { 'content-type': /^application\/json/ } })
  t.match(JSON.parse(list.body as string), { id: 1, result: { structuredContent: { tickets: [] } } })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const wait = await post(toolCall(2, 'wait_for_answer', { id, timeout_seconds: 0.01 }))
  t.match(wait, { status: 200, headers: { 'content-type': 'text/event-stream' } })
  t.match(await new Response(wait.body).text(), /^event: message\ndata: \{"result".+"id":2\}/)
})

t.test('a call whose client is gone already is not waited for', async t => {
  const { post, desk } = await open()
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  for (const accept of [BOTH, 'application/json']) {
    const { body } = await post(toolCall(1, 'wait_for_answer', { id }), { accept }, { signal: AbortSignal.abort() })
    t.equal(body, null)
  }
  t.equal(desk.waiting, 0)
})

t.test('a stream that is let go frees its wait', async t => {
  const { post, desk } = await open()
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const { body } = await post(toolCall(1, 'wait_for_answer', { id }))
  await untilWaiting(desk, 1)
  await (body as ReadableStream).cancel()
  await untilWaiting(desk, 0)
  t.equal(desk.waiting, 0)
})

t.test('any version of the initialize-based era is taken, and one that nobody knows is refused', async t => {
  const { post } = await open()
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    t.equal((await post(toolCall(1, 'list_pending'), { 'mcp-protocol-version': version })).status, 200, version)
  }
  const { status, body } = await post(toolCall(1, 'list_pending'), { 'mcp-protocol-version': '2025-01-01' })
  t.equal(status, 400)
  t.match(JSON.parse(body as string), { error: { code: -32000, message: /Unsupported protocol version: 2025-01-01 \(supported versions: 2025-11-25/ } })
})

t.test('a method without an answer of ours is an error with status 200 in the old era and 404 in the new', async t => {
  const { post } = await open()
  const old = await post({ jsonrpc: '2.0', id: 1, method: 'resources/list' })
  t.match({ status: old.status, ...JSON.parse(old.body as string) }, { status: 200, error: { code: -32601 } })
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  const modern = await post({ jsonrpc: '2.0', id: 1, method: 'resources/list', params: { _meta } },
    { accept: BOTH, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/list' })
  t.match({ status: modern.status, ...JSON.parse(modern.body as string) }, { status: 404, error: { code: -32601 } })
})

t.test('initialize settles on the version that was asked for, or on the newest of its era', async t => {
  const { post } = await open()
  for (const [asked, given] of [['2024-11-05', '2024-11-05'], ['2025-06-18', '2025-06-18'], ['2099-01-01', '2025-11-25']] as const) {
    const { body } = await post({
      jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    })
    t.match(JSON.parse(body as string), { result: { protocolVersion: given } })
  }
})

t.test('parameters that the protocol does not know are the caller\'s error, said in a sentence', async t => {
  const { post } = await open()
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: false }
  for (const accept of [BOTH, 'application/json']) {
    const reply = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, { accept })
    t.match(JSON.parse(reply.body as string), {
      id: 1, error: { code: -32602, message: /^The parameters of initialize are not valid: params\.clientInfo: .*expected object/ }
    })
  }
})
