import t from 'tap'
import { PIPELINE_LIMIT } from '../../plugins/pipelining'
import { listen } from '../helpers/build'
import { raw } from '../helpers/http'
import { untilWaiting } from '../helpers/mcp-app'

function waitFor (port: number, id: string, seconds: number): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait_for_answer', arguments: { id, timeout_seconds: seconds } } })
  const head = ['POST /mcp/agent HTTP/1.1', `host: 127.0.0.1:${port}`, `origin: http://127.0.0.1:${port}`, 'content-type: application/json', `content-length: ${body.length}`]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

t.test('a connection has five requests under way at a time, and what is sent beyond is refused in its turn', async t => {
  const { app, port } = await listen(t)
  const { id } = await app.readyroom.desk.ask({ question: 'Go on?', stream: 'agent' })
  const said = (await raw(port, waitFor(port, id, 0.3).repeat(PIPELINE_LIMIT + 5))).match(/HTTP\/1\.1 \d+/g)
  t.strictSame(said, [...Array<string>(PIPELINE_LIMIT).fill('HTTP/1.1 200'), 'HTTP/1.1 429'], 'the connection ends with the refusal')
})

t.test('one after the other, a connection has as many requests as it likes', async t => {
  const { port } = await listen(t)
  const ask = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n`
  // Five at most are sent together; the last one ends it.
  const text = `${ask}\r\n`.repeat(PIPELINE_LIMIT - 1) + `${ask}connection: close\r\n\r\n`
  for (let i = 0; i < 3; i++) t.equal((await raw(port, text)).match(/HTTP\/1\.1 200/g)?.length, PIPELINE_LIMIT)
})

t.test('a connection that goes on without reading is cut, and what it waited for is let go', async t => {
  const { app, port } = await listen(t)
  const { desk } = app.readyroom
  const { id } = await desk.ask({ question: 'Go on?', stream: 'agent' })
  const said = await raw(port, waitFor(port, id, 60).repeat(200)).catch((err: NodeJS.ErrnoException) => err.code)
  t.ok(['', 'ECONNRESET', 'EPIPE'].includes(String(said)), String(said))
  await untilWaiting(desk, 0)
})

t.test('what stands behind in what has been read already is not made into requests', async t => {
  const { app, port } = await listen(t)
  let made = 0
  app.server.on('request', () => { made++ })
  await raw(port, `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`.repeat(3_000)).catch(() => {})
  t.ok(made > PIPELINE_LIMIT && made < 50, `${made} of 3,000`)
})
