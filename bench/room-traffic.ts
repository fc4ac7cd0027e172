// The rooms over HTTP: from a message to the last stream that hears of it, what a thousand agents weigh, and whether a
// decision is slower while the rooms are busy.
import { durableRoundTrips, roundTrips } from './floors'
import { createCaller, latencies, median, percentile, type Plan, type Print, ratio, short, table, toolCall } from './harness'
import { type BenchServer, startServer } from './processes'
import { openStreams } from './streams'

const MIB = 1_024 * 1_024
const SAMPLES = 40
const NOBODY = '01900000-0000-7000-8000-000000000000'

async function post (caller: ReturnType<typeof createCaller>, body: string): Promise<void> {
  const { status, body: text } = await caller.post('/v1/messages', { body })
  if (status !== 200) throw new Error(`A message was refused: ${status} ${text.slice(0, 200)}`)
}

/** Opens streams and says how long a message takes to the last of them; `look` sees the server meanwhile. */
async function withReaders<T> (readers: number, look: (server: BenchServer) => Promise<T>): Promise<{ samples: number[], seen: T }> {
  const server = await startServer()
  const caller = createCaller(server.port, 1)
  // The room is there from the first call on.
  await post(caller, 'first')
  const streams = await openStreams(server.port, '/v1/stream', readers)
  const samples = await latencies(SAMPLES, async n => {
    const text = `message number ${n} of many`
    await Promise.all([streams.heardByAll(text), post(caller, text)])
  })
  const seen = await look(server)
  streams.close()
  caller.close()
  await server.close()
  return { samples, seen }
}

async function streams (print: Print, { quick }: Plan): Promise<void> {
  const [bare, durable] = [percentile(await roundTrips(300), 0.5), percentile(await durableRoundTrips(300), 0.5)]
  const rows = [['bare loopback POST', short(bare), '-', '1x', '-'], ['the same with one sync', short(durable), '-', ratio(durable / bare), '-']]
  const memory: string[][] = []
  for (const readers of quick ? [1, 100] : [1, 100, 1_000]) {
    const { samples, seen } = await withReaders(readers, server => server.memory())
    const p50 = median(samples)
    rows.push([`${readers.toLocaleString('en-US')} streams, to the last`, short(p50), short(percentile(samples, 0.99)), ratio(p50 / bare), short(p50 * 1_000 / readers)])
    memory.push([readers.toLocaleString('en-US'), short(seen.rss / MIB), short(seen.heapUsed / MIB)])
  }
  print('## From a message to the streams of its room, in milliseconds')
  table(print, ['', 'p50', 'p99', 'p50 against the bare POST', 'a stream, in microseconds'], rows)
  print('Memory of the server with so many agents attached, in MiB')
  table(print, ['agents', 'resident', 'heap in use'], memory)
}

/** What the others do meanwhile: fill the room, or send the server as many requests that have nothing to do with it. */
type Crowd = 'posts' | 'looks'

/** One agent asks, one ticket after the other; `others` go on meanwhile, each as fast as it is answered. */
async function asks (others: number, crowded: Crowd, count: number): Promise<{ samples: number[], done: number }> {
  const server = await startServer()
  const caller = createCaller(server.port, 1)
  const crowd = createCaller(server.port, Math.max(1, others))
  await post(crowd, 'first')
  const state = { isOver: false, done: 0 }
  const busy = Promise.all(Array.from({ length: others }, async () => {
    while (!state.isOver) {
      const n = state.done++
      if (crowded === 'posts') await post(crowd, `Message ${n}, of an ordinary length: the build is green, go on with the review.`)
      else await crowd.post('/mcp/looking', toolCall(n, 'wait_for_answer', { id: NOBODY, timeout_seconds: 0 }))
    }
  }))
  const ask = async (n: number): Promise<void> => {
    const { status, body } = await caller.post('/mcp/bench', toolCall(n, 'ask_human', { question: 'Ship it?' }))
    if (status !== 200 || !body.includes('pending')) throw new Error(`ask_human failed: ${status} ${body.slice(0, 200)}`)
  }
  await latencies(40, ask)
  const before = state.done
  const start = performance.now()
  const samples = await latencies(count, ask)
  const done = (state.done - before) / ((performance.now() - start) / 1_000)
  state.isOver = true
  await busy
  caller.close()
  crowd.close()
  await server.close()
  return { samples, done }
}

async function decisions (print: Print, { quick }: Plan): Promise<void> {
  const rows: string[][] = []
  let base = 0
  const crowds = [
    ['nobody else', 0, 'posts'], ['4 agents post without a pause', 4, 'posts'], ['16 agents post without a pause', 16, 'posts'],
    ['16 agents make a call that touches no room and no disk', 16, 'looks']
  ] as const
  for (const [what, others, crowded] of crowds) {
    const { samples, done } = await asks(others, crowded, quick ? 100 : 400)
    const p50 = percentile(samples, 0.5)
    if (others === 0) base = p50
    rows.push([what, short(done), short(p50), short(percentile(samples, 0.99)), ratio(p50 / base)])
  }
  print('## One ask_human while the server is busy with the rooms, in milliseconds')
  table(print, ['', 'their calls a second', 'p50', 'p99', 'p50 against nobody else'], rows)
}

export async function roomTrafficBench (print: Print, plan: Plan): Promise<void> {
  await streams(print, plan)
  await decisions(print, plan)
}
