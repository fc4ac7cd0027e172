// From `POST /api/answer` sent to `wait_for_answer` received, by how many wait, each for a ticket of its own.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCaller, latencies, percentile, type Print, ratio, short, table, toolCall } from './harness'
import { startServer } from './processes'

const WAITERS = [1, 100, 1_000]
const SAMPLES = 100

/** A loopback POST to a server that does nothing but answer, in milliseconds. */
async function bare (): Promise<number[]> {
  const server = createServer((req, res) => { req.resume().on('end', () => res.end('{}')) })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const caller = createCaller((server.address() as AddressInfo).port, 1)
  await latencies(100, () => caller.post('/', {}))
  const samples = await latencies(500, () => caller.post('/', {}))
  caller.close()
  server.close()
  return samples
}

const structured = <T>(body: string): T => {
  const json = body.includes('data: ') ? body.slice(body.indexOf('data: {') + 6).split('\n')[0]! : body
  return (JSON.parse(json) as { result: { structuredContent: T } }).result.structuredContent
}

async function answerToWaiter (waiters: number): Promise<number[]> {
  const server = await startServer()
  const asking = createCaller(server.port, 16)
  const waiting = createCaller(server.port, waiters + 1)
  const answering = createCaller(server.port, 1)
  let stream = 0
  const enqueue = async (n: number): Promise<string> => {
    if (n % 400 === 0) stream++
    const { body } = await asking.post(`/mcp/bench-${stream}`, toolCall(n, 'ask_human', { question: 'Ship it?' }))
    return structured<{ id: string }>(body).id
  }
  const wait = (id: string): Promise<unknown> => waiting.post('/mcp/bench', toolCall(1, 'wait_for_answer', { id, timeout_seconds: 300 }))
  const answer = (id: string): Promise<unknown> => answering.post('/api/answer', { id, answer: 'yes' })

  const open: Array<{ id: string, answered: Promise<unknown> }> = []
  for (let n = 0; n < waiters; n++) {
    const id = await enqueue(n)
    open.push({ id, answered: wait(id) })
  }
  const samples: number[] = []
  for (let n = 0; n < SAMPLES + 20; n++) {
    // One takes the place of each that was answered, so that the number of waiters stays.
    const id = await enqueue(waiters + n)
    open.push({ id, answered: wait(id) })
    await asking.post('/mcp/bench', toolCall(1, 'wait_for_answer', { id, timeout_seconds: 0 }))
    const next = open.shift()!
    const start = performance.now()
    const sent = answer(next.id)
    await next.answered
    if (n >= 20) samples.push(performance.now() - start)
    await sent
  }
  await Promise.all(open.map(async ({ id, answered }) => { await answer(id); await answered }))
  for (const caller of [asking, waiting, answering]) caller.close()
  await server.close()
  return samples
}

export async function waitBench (print: Print): Promise<void> {
  print('## From an answer to its waiter, in milliseconds')
  const floor = await bare()
  const base = percentile(floor, 0.5)
  const rows = [['bare loopback POST', short(base), short(percentile(floor, 0.99)), '1x']]
  for (const waiters of WAITERS) {
    const samples = await answerToWaiter(waiters)
    rows.push([`${waiters.toLocaleString('en-US')} waiting`, short(percentile(samples, 0.5)), short(percentile(samples, 0.99)), ratio(percentile(samples, 0.5) / base)])
  }
  table(print, ['', 'p50', 'p99', 'p50 against the bare POST'], rows)
}
