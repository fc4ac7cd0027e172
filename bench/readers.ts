// From an answer to the last of the event streams that hear of it, by how many pages are open.
import { durableRoundTrips } from './floors'
import { createCaller, percentile, type Plan, type Print, ratio, short, table, toolCall } from './harness'
import { startServer } from './processes'
import { structured } from './reply'
import { openStreams } from './streams'

const SAMPLES = 30

async function answerToReaders (readers: number): Promise<number[]> {
  const server = await startServer()
  const caller = createCaller(server.port, 4)
  const streams = await openStreams(server.port, '/api/events', readers)
  const samples: number[] = []
  for (let n = 0; n < SAMPLES; n++) {
    const { id } = structured<{ id: string }>((await caller.post('/mcp/bench', toolCall(n, 'ask_human', { question: 'Ship it?' }))).body)
    const everybody = streams.heardByAll(`the answer to ${n}.`)
    const start = performance.now()
    await Promise.all([caller.post('/api/answer', { id, answer: `the answer to ${n}.` }), everybody])
    samples.push(performance.now() - start)
  }
  streams.close()
  caller.close()
  await server.close()
  return samples
}

export async function readersBench (print: Print, { quick }: Plan): Promise<void> {
  print('## From an answer to the last of the event streams, in milliseconds')
  const floor = percentile(await durableRoundTrips(300), 0.5)
  const rows = [['bare loopback POST with one sync', short(floor), '-', '1x', '-']]
  for (const readers of quick ? [1, 100] : [1, 100, 1_000]) {
    const samples = await answerToReaders(readers)
    const p50 = percentile(samples, 0.5)
    rows.push([`${readers.toLocaleString('en-US')} streams`, short(p50), short(percentile(samples, 0.99)), ratio(p50 / floor), short(p50 * 1_000 / readers)])
  }
  table(print, ['', 'p50', 'p99', 'p50 against the bare POST', 'a stream, in microseconds'], rows)
}
