import { request as httpRequest } from 'node:http'
import t from 'tap'
import { mcpContract } from '../contract/mcp'
import { connectHttp } from '../helpers/mcp-clients'
import { toolCall } from '../helpers/mcp-pipes'
import { startWorker } from '../helpers/worker'
import { call, enqueue, headersOf, post } from '../helpers/worker-client'

t.test('in workerd', async t => mcpContract(t, async t => {
  const worker = await startWorker(t)
  return {
    connect: (era, stream = 'http') => connectHttp(t, era, `${worker.origin}/mcp/${encodeURIComponent(stream)}`, headersOf(worker)),
    async answer (id, text) {
      t.equal((await post(worker, '/api/answer', { id, answer: text })).status, 200)
    },
    untilWaiting: count => worker.untilWaiting(count),
    cancels: era => era === 'modern'
  }
}))

t.test('the stream comes from the address or the argument; without either both ways are named', async t => {
  const worker = await startWorker(t)
  for (const path of ['/mcp', '/mcp/']) {
    const refused = await call(worker, path, 'ask_human', { question: 'Who?' })
    t.equal(refused.isError, true)
    t.match(refused.content[0]!.text, /stream argument of ask_human.+POST \/mcp\/\{stream\}/)
  }
  await call(worker, '/mcp', 'ask_human', { question: 'One?', stream: 'by argument' })
  await call(worker, '/mcp/Z%C3%BCrich%2F1', 'ask_human', { question: 'Two?' })
  await call(worker, '/mcp/path', 'ask_human', { question: 'Three?', stream: 'argument first' })
  const { structuredContent: { tickets } } = await call(worker, '/mcp', 'list_pending')
  t.strictSame((tickets as Array<{ stream: string }>).map(({ stream }) => stream), ['by argument', 'Z\u00fcrich/1', 'argument first'])
  const nested = await post(worker, '/mcp/a/b', toolCall(1, 'list_pending'))
  t.equal(nested.status, 404)
  t.match(await nested.json(), { error: 'NOT_FOUND', message: /written as %2F/ })
})

t.test('a wait of whatever length ends at five seconds, pending and no error', async t => {
  const worker = await startWorker(t)
  const id = await enqueue(worker)
  const start = performance.now()
  const waits = await Promise.all([6, 60, 600, 100_000].map(seconds => call(worker, '/mcp/agent', 'wait_for_answer', { id, timeout_seconds: seconds })))
  const ms = performance.now() - start
  t.ok(ms > 4_500 && ms < 8_000, `${ms.toFixed(0)} ms`)
  for (const { isError, structuredContent } of waits) {
    t.not(isError, true)
    t.strictSame(structuredContent, { id, status: 'pending' })
  }
})

t.test('a client that is cut off frees its waiter at once, whichever kind of answer it asked for', async t => {
  const worker = await startWorker(t)
  const id = await enqueue(worker)
  for (const accept of ['application/json', 'application/json, text/event-stream']) {
    const wait = httpRequest(new URL('/mcp/agent', worker.origin), { method: 'POST', agent: false, headers: headersOf(worker, accept) })
    wait.on('error', () => {})
    wait.end(JSON.stringify(toolCall(1, 'wait_for_answer', { id })))
    await worker.untilWaiting(1)
    const start = performance.now()
    // A reset, since workerd leaves a half-closed connection open: the network before it tells it that a client has gone.
    wait.socket!.resetAndDestroy()
    await new Promise(resolve => { wait.once('close', resolve) })
    await worker.untilWaiting(0)
    t.ok(performance.now() - start < 2_000, `${accept}: long before its five seconds are over`)
  }
})
