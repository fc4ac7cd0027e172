// From `POST /api/answer` sent to `wait_for_answer` received, by how many wait, each for a ticket of its own.
import { durableRoundTrips, roundTrips } from './floors'
import { aim, createCaller, percentile, type Plan, type Print, ratio, short, table, toolCall } from './harness'
import { startServer } from './processes'
import { structured } from './reply'

const SAMPLES = 300

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

export async function waitBench (print: Print, { quick }: Plan): Promise<void> {
  print('## From an answer to its waiter, in milliseconds')
  const [bare, durable] = [await roundTrips(), await durableRoundTrips()]
  const base = { p50: percentile(durable, 0.5), p99: percentile(durable, 0.99) }
  const row = (what: string, samples: number[]): string[] => {
    const [p50, p99] = [percentile(samples, 0.5), percentile(samples, 0.99)]
    return [what, short(p50), short(p99), ratio(p50 / base.p50), ratio(p99 / base.p99)]
  }
  const rows = [row('bare loopback POST', bare), row('the same with one write and one sync', durable)]
  let thousand = 0
  for (const waiters of quick ? [1, 1_000] : [1, 100, 1_000, 5_000]) {
    const samples = await answerToWaiter(waiters)
    rows.push(row(`${waiters.toLocaleString('en-US')} waiting`, samples))
    if (waiters === 1_000) thousand = percentile(samples, 0.99)
  }
  table(print, ['', 'p50', 'p99', 'p50 against the POST with a sync', 'p99 against it'], rows)
  print(aim(thousand <= base.p99 * 3, `1,000 waiting: p99 within 3x of a loopback POST with one sync (${ratio(thousand / base.p99)})`))
  print('')
}
