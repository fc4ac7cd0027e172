import { mock } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import t, { type Test } from 'tap'
import { Desk } from '../../lib/desk'
import { createMcpServer, mendArguments, type McpServerOptions } from '../../lib/mcp'
import { MemoryTicketStore } from '../../lib/memory-store'
import { OWNER } from '../../lib/principal'
import { untilWaiting } from '../helpers/mcp-app'

async function connect (t: Test, options: Partial<McpServerOptions> = {}): Promise<{ client: Client, desk: Desk }> {
  const desk = await new Desk(new MemoryTicketStore()).open()
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await createMcpServer({ desk, version: '1.2.3', stream: 'here', ...options }).connect(ours)
  const client = new Client({ name: 'test', version: '1' })
  t.teardown(() => client.close())
  await client.connect(theirs)
  return { client, desk }
}

t.test('a wait is no longer than the target can hold', async t => {
  const { client, desk } = await connect(t, { maxWaitMs: 30 })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const before = performance.now()
  const { structuredContent } = await client.callTool({ name: 'wait_for_answer', arguments: { id, timeout_seconds: 600 } })
  t.strictSame(structuredContent, { id, status: 'pending' })
  t.ok(performance.now() - before < 5_000)
})

t.test('progress comes every ten seconds, and only to who asked', async t => {
  const { client, desk } = await connect(t)
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let seen = 0
  let told = (): void => {}
  const silent = client.callTool({ name: 'wait_for_answer', arguments: { id } })
  const wait = client.callTool({ name: 'wait_for_answer', arguments: { id } }, { onprogress: () => { seen++; told() } })
  await untilWaiting(desk, 2)
  mock.timers.tick(9_999)
  for (const expected of [1, 2]) {
    const next = new Promise<void>(resolve => { told = resolve })
    t.equal(seen, expected - 1, 'not a moment earlier')
    mock.timers.tick(expected === 1 ? 1 : 10_000)
    await next
  }
  t.equal(seen, 2)
  await desk.answer(id, 'yes', OWNER)
  await Promise.all([wait, silent])
  mock.timers.tick(60_000)
  t.equal(seen, 2, 'and none after the answer')
})

t.test('a quiet server sends none', async t => {
  const { client, desk } = await connect(t, { quiet: true, progressMs: 1 })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  let seen = 0
  await client.callTool({ name: 'wait_for_answer', arguments: { id, timeout_seconds: 0.05 } }, { onprogress: () => { seen++ } })
  t.equal(seen, 0)
})

t.test('what closes ends waits with the tickets as they stand, and takes none more', async t => {
  const closing = new AbortController()
  const { client, desk } = await connect(t, { closing: closing.signal })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const wait = client.callTool({ name: 'wait_for_answer', arguments: { id } })
  await untilWaiting(desk, 1)
  closing.abort()
  t.match(await wait, { structuredContent: { id, status: 'pending' } })
  t.match(await client.callTool({ name: 'wait_for_answer', arguments: { id } }), { structuredContent: { id, status: 'pending' } })
})

t.test('a list that a client has changed in its hands is not changed for the next one', async t => {
  const first = await connect(t)
  const { tools } = await first.client.listTools()
  const copy = structuredClone(tools)
  for (const tool of tools) Object.assign(tool, { name: 'gone', inputSchema: {} })
  const second = await connect(t)
  t.strictSame((await second.client.listTools()).tools, copy)
})

t.test('an unknown tool of any length is named in a short sentence', async t => {
  const { client } = await connect(t)
  const err: Error = await client.callTool({ name: 'x'.repeat(100_000), arguments: {} }).then(() => new Error('no error'), err => err)
  t.match(err, { code: -32602, message: /Unknown tool: x+\. This server has ask_human, wait_for_answer, list_pending, cancel_ticket/ })
  t.ok(err.message.length < 300)
})

t.test('arguments that are null are taken for none, and nothing else is touched', async t => {
  const cases: Array<[given: object, made: object]> = [
    [{ params: { name: 'x', arguments: null } }, { params: { name: 'x' } }],
    [{ params: { name: 'x', arguments: {} } }, { params: { name: 'x', arguments: {} } }],
    [{ params: { name: 'x' } }, { params: { name: 'x' } }],
    [{ params: null }, { params: null }],
    [{ params: 'arguments' }, { params: 'arguments' }],
    [[], []]
  ]
  for (const [given, made] of cases) {
    mendArguments(given)
    t.strictSame(given, made)
  }
})
