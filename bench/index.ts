// Prints the numbers that the README quotes. Each is a ratio within one run, with its absolute beside it.
//   npm run bench [-- name ...] [-- --quick]
// Exit code 1 when a bound that is promised was missed.
import { askBench } from './ask'
import { endToEndBench } from './end-to-end'
import type { Plan, Print } from './harness'
import { historyBench } from './history'
import { latencyBench } from './latency'
import { memoryBench } from './memory'
import { pendingBench } from './pending'
import { readersBench } from './readers'
import { startBench } from './start'
import { storeBench } from './store'
import { waitBench } from './wait'

const benches: Record<string, (print: Print, plan: Plan) => Promise<void>> = {
  store: storeBench,
  history: historyBench,
  pending: pendingBench,
  ask: askBench,
  latency: latencyBench,
  wait: waitBench,
  tickets: endToEndBench,
  readers: readersBench,
  start: startBench,
  memory: memoryBench
}

const asked = process.argv.slice(2).filter(word => word !== '--quick')
const plan = { quick: process.argv.includes('--quick') }
for (const name of asked.length > 0 ? asked : Object.keys(benches)) {
  const bench = benches[name]
  if (bench === undefined) throw new Error(`No benchmark ${name}; there are ${Object.keys(benches).join(', ')}`)
  await bench(line => { process.stdout.write(`${line}\n`) }, plan)
}
