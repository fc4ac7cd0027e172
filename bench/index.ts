// Prints the numbers that the README quotes. Each is a ratio within one run, with its absolute beside it.
//   npm run bench [-- name ...]
import { askBench } from './ask'
import type { Print } from './harness'
import { latencyBench } from './latency'
import { memoryBench } from './memory'
import { startBench } from './start'
import { storeBench } from './store'
import { waitBench } from './wait'

const benches: Record<string, (print: Print) => Promise<void>> = {
  store: storeBench,
  ask: askBench,
  latency: latencyBench,
  wait: waitBench,
  start: startBench,
  memory: memoryBench
}

const asked = process.argv.slice(2)
for (const name of asked.length > 0 ? asked : Object.keys(benches)) {
  const bench = benches[name]
  if (bench === undefined) throw new Error(`No benchmark ${name}; there are ${Object.keys(benches).join(', ')}`)
  await bench(line => { process.stdout.write(`${line}\n`) })
}
