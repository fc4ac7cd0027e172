// What one queue carries as a Worker, beside the Node target in the same run: `ask_human` and answers a second.
//   npm run bench:worker
// It is workerd on this machine: its SQLite is on the local disk, where a deployment waits for its replicas.
import { startWorker, TOKEN } from '../test/helpers/worker'
import { createCaller, latencies, percentile, type Print, ratio, short, table, throughput, toolCall } from './harness'
import { startServer } from './processes'

const CALLERS = [1, 16, 64]
const COUNT: Record<number, number> = { 1: 400, 16: 1_600, 64: 3_000 }
const WARM_UP = 200

interface Target { port: number, credential: Record<string, string>, close (): Promise<unknown> }
interface Rates { ask: number[], answer: number[], asked: number[] }

const idOf = (body: string): string => (JSON.parse(body) as { result: { structuredContent: { id: string } } }).result.structuredContent.id

async function measure (open: () => Promise<Target>): Promise<Rates> {
  const rates: Rates = { ask: [], answer: [], asked: [] }
  for (const callers of CALLERS) {
    const { port, credential, close } = await open()
    const caller = createCaller(port, callers, credential)
    const ids: string[] = []
    let asked = 0
    const ask = async (): Promise<void> => {
      // A stream holds 500 tickets.
      const { status, body } = await caller.post(`/mcp/bench-${Math.floor(asked / 500)}`, toolCall(asked++, 'ask_human', { question: 'Ship it?', options: ['yes', 'no'] }))
      if (status !== 200) throw new Error(`ask_human failed: ${status} ${body.slice(0, 200)}`)
      ids.push(idOf(body))
    }
    const answer = async (n: number): Promise<void> => {
      const { status, body } = await caller.post('/api/answer', { id: ids[n], answer: 'yes' })
      if (status !== 200) throw new Error(`The answer failed: ${status} ${body.slice(0, 200)}`)
    }
    await throughput(callers, WARM_UP, ask)
    rates.ask.push(await throughput(callers, COUNT[callers]!, ask))
    rates.answer.push(await throughput(callers, COUNT[callers]!, answer))
    if (callers === 1) rates.asked = await latencies(200, ask)
    caller.close()
    await close()
  }
  return rates
}

async function openWorker (): Promise<Target> {
  const { origin, close } = await startWorker({ teardown () {} })
  return { port: Number(new URL(origin).port), credential: { authorization: `Bearer ${TOKEN}` }, close }
}

async function openNode (): Promise<Target> {
  const { port, close } = await startServer('real')
  return { port, credential: {}, close }
}

export async function workerBench (print: Print): Promise<void> {
  print('## One queue as a Worker, beside Node')
  const node = await measure(openNode)
  const worker = await measure(openWorker)
  table(print, ['callers at once', 'ask_human a second, Node', 'Worker', 'Worker / Node', 'answers a second, Node', 'Worker', 'Worker / Node'],
    CALLERS.map((callers, i) => [
      String(callers),
      short(node.ask[i]!), short(worker.ask[i]!), ratio(worker.ask[i]! / node.ask[i]!),
      short(node.answer[i]!), short(worker.answer[i]!), ratio(worker.answer[i]! / node.answer[i]!)
    ]))
  print(`One ask_human, p50 / p99 in milliseconds: Node ${[0.5, 0.99].map(share => short(percentile(node.asked, share))).join(' / ')}, ` +
    `Worker ${[0.5, 0.99].map(share => short(percentile(worker.asked, share))).join(' / ')}`)
}

await workerBench(line => { process.stdout.write(`${line}\n`) })
