// What a long queue costs: one ticket more asked and answered, the list of an agent and that of the page, beside so many that wait.
import { durableRoundTrips } from './floors'
import { bound, createCaller, latencies, percentile, type Plan, type Print, ratio, short, table, throughput, toolCall } from './harness'
import { startServer } from './processes'
import { structured } from './reply'

/** A stream holds 500 tickets, the queue 10,000. */
const PER_STREAM = 450
const question = { question: 'Ship it?', options: ['yes', 'no'], timeout_seconds: 3_600 }

interface Costs { ask: number, answer: number, pending: number, list: number }

/** In milliseconds, the lower quarter of each: whatever else the machine does falls on some of the calls only. */
async function costs (waiting: number, times: number): Promise<Costs> {
  const server = await startServer('real')
  const caller = createCaller(server.port, 16)
  const get = async (): Promise<void> => { await (await fetch(`http://127.0.0.1:${server.port}/api/tickets`)).arrayBuffer() }
  try {
    await throughput(16, waiting, n => caller.post(`/mcp/stream-${Math.floor(n / PER_STREAM)}`, toolCall(n, 'ask_human', question)))
    const ids: string[] = []
    const ask = async (n: number): Promise<void> => {
      const { status, body } = await caller.post('/mcp/one-more', toolCall(n, 'ask_human', question))
      if (status !== 200) throw new Error(`ask_human failed: ${status} ${body.slice(0, 200)}`)
      ids.push(structured<{ id: string }>(body).id)
    }
    const answer = async (n: number): Promise<void> => {
      const { status, body } = await caller.post('/api/answer', { id: ids[n], answer: 'yes' })
      if (status !== 200) throw new Error(`The answer failed: ${status} ${body.slice(0, 200)}`)
    }
    const lowest = async (count: number, call: (n: number) => Promise<unknown>): Promise<number> => percentile(await latencies(count, call), 0.25)
    return {
      ask: await lowest(times, ask),
      answer: await lowest(times, answer),
      pending: await lowest(Math.ceil(times / 4), n => caller.post('/mcp/one-more', toolCall(n, 'list_pending', {}))),
      list: await lowest(Math.ceil(times / 10), get)
    }
  } finally {
    caller.close()
    await server.close()
  }
}

export async function pendingBench (print: Print, { quick }: Plan): Promise<void> {
  const queues = quick ? [0, 1_000] : [0, 1_000, 9_500]
  const times = quick ? 100 : 300
  const floor = percentile(await durableRoundTrips(times), 0.25)
  const found: Costs[] = []
  for (const waiting of queues) found.push(await costs(waiting, times))
  print('## What a long queue costs')
  table(print, ['pending', 'one ask, ms', 'against none', 'one answer, ms', 'list_pending (200 at most), ms', 'the whole list of the page, ms'], [
    ['a loopback POST with one sync', short(floor), '', short(floor), '', ''],
    ...queues.map((waiting, i) => {
      const { ask, answer, pending, list } = found[i]!
      return [waiting.toLocaleString('en-US'), short(ask), ratio(ask / found[0]!.ask), short(answer), short(pending), short(list)]
    })
  ])
  const grown = found.at(-1)!.ask / found[0]!.ask
  print(bound(grown <= 2, `one more ticket costs about the same beside ${queues.at(-1)!.toLocaleString('en-US')} that wait (${ratio(grown)}, at most 2x)`))
  print('')
}
