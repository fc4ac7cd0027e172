// From an answer to the last of the event streams that hear of it, by how many pages are open.
import { Agent, get, type IncomingMessage } from 'node:http'
import { durableRoundTrips } from './floors'
import { createCaller, percentile, type Plan, type Print, ratio, short, table, toolCall } from './harness'
import { startServer } from './processes'
import { structured } from './reply'

const SAMPLES = 30

/** Opens a stream and calls `hear` with every ticket id in it. */
function openStream (agent: Agent, port: number, hear: (id: string) => void): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ agent, host: '127.0.0.1', port, path: '/api/events', headers: { accept: 'text/event-stream' } }, res => {
      let rest = ''
      res.setEncoding('utf8')
      res.on('error', () => {})
      res.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop()!
        for (const line of lines) {
          const id = line.startsWith('data: ') && line.includes('"answered"') && /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(line)?.[0]
          if (id) hear(id)
        }
      })
      res.once('data', () => { resolve(res) })
    }).on('error', reject)
  })
}

async function answerToReaders (readers: number): Promise<number[]> {
  const server = await startServer()
  const caller = createCaller(server.port, 4)
  const agent = new Agent({ maxSockets: readers })
  const heard = new Map<string, number>()
  let all: { id: string, done: () => void } | undefined
  const hear = (id: string): void => {
    const count = (heard.get(id) ?? 0) + 1
    heard.set(id, count)
    if (count === readers && all?.id === id) all.done()
  }
  await Promise.all(Array.from({ length: readers }, () => openStream(agent, server.port, hear)))
  const samples: number[] = []
  for (let n = 0; n < SAMPLES; n++) {
    const { id } = structured<{ id: string }>((await caller.post('/mcp/bench', toolCall(n, 'ask_human', { question: 'Ship it?' }))).body)
    const everybody = new Promise<void>(resolve => { all = { id, done: resolve } })
    const start = performance.now()
    await Promise.all([caller.post('/api/answer', { id, answer: 'yes' }), everybody])
    samples.push(performance.now() - start)
  }
  agent.destroy()
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
