import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import t from 'tap'
import { OWNER } from '../../../lib/principal'
import { mcpContract } from '../../contract/mcp'
import { untilWaiting } from '../../helpers/mcp-app'
import { connectOver } from '../../helpers/mcp-clients'
import { initialize, settlesWithin, startPipes, toolCall } from '../../helpers/mcp-pipes'
import { serveMcpStdio } from '../../../lib/node/stdio'
import { silentLog } from '../../../lib/node/log'

const MODERN = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }

t.test('over pipes', async t => mcpContract(t, async t => {
  const { desk } = await startPipes()
  return {
    async connect (era, stream = 'pipe') {
      const [toServer, toClient] = [new PassThrough(), new PassThrough()]
      const stdio = serveMcpStdio({ desk, stream, version: '1.2.3', log: silentLog, stdin: toServer, stdout: toClient, progressMs: 15 })
      t.teardown(() => stdio.close())
      // The SDK's transport for a server is as good a one for the other end: lines in, lines out.
      return connectOver(t, era, new StdioServerTransport(toClient, toServer))
    },
    answer: async (id, text) => { await desk.answer(id, text, OWNER) },
    untilWaiting: count => untilWaiting(desk, count),
    cancels: () => true,
    hasFastProgress: true
  }
}))

t.test('initialize and tools/list are answered while the desk is still on its way', async t => {
  const never = (): Promise<never> => new Promise(() => {})
  const pipes = await startPipes({ agentDesk: { ask: never, wait: never, pending: never, cancel: never } })
  t.match(await pipes.ask(1, 'initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'x', version: '1' } }),
    { result: { protocolVersion: '2024-11-05', serverInfo: { name: 'readyroom' } } })
  pipes.send(toolCall(2, 'list_pending'))
  t.match(await pipes.ask(3, 'tools/list'), { result: { tools: [{ name: 'ask_human' }, {}, {}, {}] } }, 'and a call that waits holds up nothing')
  pipes.stdin.end()
  t.ok(await settlesWithin(pipes.stdio.ended, 5_000), 'nor does it hold up the end')
})

t.test('garbage is passed over, warned of once, and never answered on stdout', async t => {
  const { send, next, logged, stdio } = await startPipes()
  send('\n  \r\n{"jsonrpc":"2.0","id":1,\nhello\n"text"\n5\nnull\n')
  send(Buffer.from([0xff, 0xfe, 0x0a]).toString('latin1'))
  t.equal(stdio.spoken, false, 'none of this is a message')
  send(initialize(7))
  t.match(await next(), { id: 7, result: {} })
  t.equal(stdio.spoken, true)
  t.match(logged, [{ level: 'warn', message: /not JSON/, details: { line: '{"jsonrpc":"2.0","id":1,' } }])
  t.equal(logged.length, 1)
  await stdio.close()
})

t.test('a malformed message and a batch are refused, each to the id that it has', async t => {
  const { send, next, stdio } = await startPipes()
  send({ id: 4, method: 'tools/list' })
  t.match(await next(), { id: 4, error: { code: -32600, message: /no JSON-RPC 2.0 message/ } })
  send([{ jsonrpc: '2.0', id: 'a', method: 'ping' }, { jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', id: 'b', method: 'ping' }])
  t.match([await next(), await next()], [{ id: 'a', error: { code: -32600, message: /Batches/ } }, { id: 'b', error: { code: -32600 } }])
  t.equal(stdio.spoken, false)
  await stdio.close()
})

t.test('a flood on stdin leaves everything else its turn, and what comes behind it is served', async t => {
  const { stdin, send, next, stdio } = await startPipes()
  const chunk = Buffer.from('y\n'.repeat(32_768))
  let turns = 0
  const turn = setInterval(() => { turns++ }, 0)
  for (let i = 0; i < 8; i++) stdin.write(chunk)
  send(initialize(7))
  t.match(await next(), { id: 7, result: {} })
  clearInterval(turn)
  t.ok(turns >= 4, `timers had ${turns} turns`)
  await stdio.close()
})

t.test('a line that is not UTF-8 is refused, so that no letter of a question is replaced', async t => {
  const { send, next, stdin, logged, stdio } = await startPipes()
  const call = (id: number): string => JSON.stringify({ ...toolCall(id, 'ask_human', { question: 'größer?' }) }) + '\n'
  stdin.write(Buffer.from(call(1), 'latin1'))
  t.match(await next(), { id: 1, error: { code: -32600, message: /not UTF-8/ } })
  stdin.write(Buffer.from('"\xff"\n[\xff]\n', 'latin1'))
  send(call(2))
  t.match(await next(), { id: 2, result: { structuredContent: { status: 'pending' } } })
  send(toolCall(3, 'list_pending'))
  t.match(await next(), { id: 3, result: { structuredContent: { tickets: [{ question: 'größer?' }] } } })
  t.match(logged, [{ level: 'warn', message: /not UTF-8/ }])
  await stdio.close()
})

t.test('a mark of the byte order before the first message is passed over', async t => {
  const { send, next, stdio } = await startPipes()
  send('\uFEFF' + JSON.stringify(initialize(1)) + '\n')
  t.match(await next(), { id: 1, result: {} })
  await stdio.close()
})

t.test('a line over ten megabytes is refused without being held, and the next one is served', async t => {
  const { send, next, logged, stdio } = await startPipes()
  const filler = 'x'.repeat(1024 * 1024)
  for (const [head, tail, id] of [['{"jsonrpc":"2.0","id":1,"method":"', '"}', 1], ['{"method":"', '","jsonrpc":"2.0","id":"two"}', 'two']] as const) {
    send(head)
    for (let n = 0; n < 11; n++) send(filler)
    send(tail + '\n')
    t.match(await next(), { id, error: { code: -32600, message: /at most 10,485,760 are read/ } })
  }
  send('{"params":{"id":5}' + filler.repeat(11) + '}}\n')
  send(initialize(3))
  t.match(await next(), { id: 3, result: {} }, 'a line whose id cannot be told has no answer')
  t.match(logged, [{ level: 'warn', message: /too long/ }])
  await stdio.close()
})

t.test('a message in many pieces, many messages in one piece, and a last line without its break are all read', async t => {
  const { send, next, stdin, stdio } = await startPipes()
  for (const byte of JSON.stringify(toolCall(1, 'ask_human', { question: 'Grüße? 😀' })) + '\r\n') stdin.write(Buffer.from(byte))
  t.match(await next(), { id: 1, result: { structuredContent: { status: 'pending' } } })
  send('{"jsonrpc":"2.0","id":2,"method":"ping"}\n{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
  t.match([await next(), await next()], [{ id: 2, result: {} }, { id: 3, result: {} }])
  stdin.end(JSON.stringify(toolCall(4, 'list_pending')))
  t.match(await next(), { id: 4, result: { structuredContent: { tickets: [{ question: 'Grüße? 😀', stream: 'pipe' }] } } })
  await stdio.ended
})

t.test('the end of stdin before initialize is the end, and nothing was said', async t => {
  for (const end of [(s: PassThrough) => s.end(), (s: PassThrough) => s.destroy(), (s: PassThrough) => s.destroy(new Error('read failed'))]) {
    const { stdin, stdout, stdio } = await startPipes({ read: false })
    end(stdin)
    await stdio.ended
    t.equal(stdio.spoken, false)
    t.equal(stdout.readableLength, 0)
  }
})

t.test('a stdin that had ended before is seen as ended', async t => {
  const stdin = new PassThrough()
  stdin.end()
  stdin.resume()
  await once(stdin, 'end')
  const { desk } = await startPipes()
  const stdio = serveMcpStdio({ desk, stream: 'x', version: '1.2.3', log: silentLog, stdin, stdout: new PassThrough() })
  await stdio.ended
  t.equal(stdio.spoken, false)
})

t.test('the end of stdin in mid-call: an ask is answered, a wait says how the ticket stands, and nothing is left waiting', async t => {
  const { send, next, stdin, stdio, desk } = await startPipes()
  send(toolCall(1, 'ask_human', { question: 'Deploy?' }))
  const { result } = await next()
  const id = result?.structuredContent?.['id']
  send(toolCall(2, 'wait_for_answer', { id }))
  await untilWaiting(desk, 1)
  send(toolCall(3, 'ask_human', { question: 'And this?' }))
  stdin.end()
  const answers = [await next(), await next()].sort((a, b) => Number(a.id) - Number(b.id))
  t.match(answers, [{ id: 2, result: { structuredContent: { id, status: 'pending' } } }, { id: 3, result: { structuredContent: { status: 'pending' } } }])
  await stdio.ended
  t.equal(desk.waiting, 0)
  t.equal(desk.pendingCount, 2)
})

t.test('close answers open waits, reads no more, and may be called twice', async t => {
  const { send, next, stdin, stdio, desk } = await startPipes()
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  send(toolCall(1, 'wait_for_answer', { id }))
  await untilWaiting(desk, 1)
  const closed = stdio.close()
  t.match(await next(), { id: 1, result: { structuredContent: { id, status: 'pending' } } })
  await closed
  await stdio.close()
  t.equal(stdin.listenerCount('data'), 0)
})

t.test('a client that stops reading ends it, and a late error on a pipe ends nothing more', async t => {
  const { send, stdin, stdout, stdio, desk } = await startPipes({ read: false })
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  send(toolCall(1, 'wait_for_answer', { id }))
  await untilWaiting(desk, 1)
  stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await stdio.ended
  await untilWaiting(desk, 0)
  stdin.emit('error', new Error('late'))
  stdout.emit('error', new Error('late'))
  t.pass('still here')
})

t.test('a client that does not read what it is owed is not read from either', async t => {
  const { send, stdin, stdout, stdio, desk } = await startPipes({ read: false })
  for (let n = 0; n < 50; n++) await desk.ask({ question: 'x'.repeat(2_000), stream: 'x' })
  for (let n = 1; n <= 20; n++) send(toolCall(n, 'list_pending'))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(stdin.isPaused(), true)
  const seen = new Set<number>()
  let text = ''
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n')) {
      seen.add(Number((JSON.parse(text.slice(0, at)) as { id: number }).id))
      text = text.slice(at + 1)
    }
  })
  stdin.end()
  await stdio.ended
  t.equal(seen.size, 20, 'and everything arrives once it reads again')
})

t.test('a probe of the new era may be followed by initialize', async t => {
  const { ask, stdio } = await startPipes()
  t.match(await ask(1, 'server/discover', { _meta: MODERN }), { result: { supportedVersions: ['2026-07-28'], instructions: /ask_human/ } })
  t.match(await ask(2, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }),
    { result: { protocolVersion: '2025-06-18' } })
  t.match(await ask(3, 'tools/call', { name: 'ask_human', arguments: { question: 'Deploy?' } }), { result: { structuredContent: { status: 'pending' } } })
  await stdio.close()
})

t.test('a cancelled call is not answered, in either era', async t => {
  for (const _meta of [undefined, MODERN]) {
    const { send, ask, desk, stdio } = await startPipes()
    const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
    send(toolCall(1, 'wait_for_answer', { id }, _meta))
    await untilWaiting(desk, 1)
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'changed my mind', ...(_meta && { _meta }) } })
    await untilWaiting(desk, 0)
    await desk.answer(id, 'yes', OWNER)
    t.match(await ask(2, 'tools/call', { name: 'list_pending', arguments: {}, ...(_meta && { _meta }) }), { id: 2, result: {} }, 'the first answer is the second call\'s')
    await stdio.close()
    t.ok(await settlesWithin(stdio.ended, 1_000))
  }
})

t.test('what nobody foresaw is -32603, with its text in the log alone', async t => {
  const broken = async (): Promise<never> => { throw new Error('the secret inside') }
  const { ask, logged, stdio } = await startPipes({ agentDesk: { ask: broken, wait: broken, pending: broken, cancel: broken } })
  const { error } = await ask(1, 'tools/call', { name: 'list_pending', arguments: {} })
  t.match(error, { code: -32603, message: /The log on its standard error says what/ })
  t.match(logged, [{ level: 'error', message: 'A tool call failed', details: { tool: 'list_pending', err: { message: 'the secret inside' } } }])
  await stdio.close()
})
