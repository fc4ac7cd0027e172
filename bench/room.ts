// Prints what the rooms cost, each as a ratio within one run, with its absolute beside it.
//   npm run bench:room [-- --quick]
// Exit code 1 when a bound that is promised was missed.
import { roomStoreBench } from './room-store'
import { roomTrafficBench } from './room-traffic'

const plan = { quick: process.argv.includes('--quick') }
const print = (line: string): void => { process.stdout.write(`${line}\n`) }
await roomStoreBench(print, plan)
await roomTrafficBench(print, plan)
