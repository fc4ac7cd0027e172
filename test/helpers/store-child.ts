// Run as a process of its own: `store-child.ts <folder> <round> <commits>`. Commits tickets, sixteen at a time, answers
// every second one, and writes each revision to stdout as soon as the store has acknowledged it: `ack <id> <rev>`. After
// so many commits it says `closing`, closes, and waits.
import { writeSync } from 'node:fs'
import { FileTicketStore } from '../../lib/node/file-store'
import { answered, decide } from './decisions'

const [dir, round, commits] = process.argv.slice(2) as [string, string, string]
const store = new FileTicketStore({ dir, instance: `round ${round}` })
await store.load()

let done = 0
let made = 0
const put = async (decision: ReturnType<typeof decide>): Promise<void> => {
  done++
  const { id, ticket: { rev } } = await store.commit(decision)
  // Synchronous: an acknowledgement must not wait in this process when it is killed.
  writeSync(1, `ack ${id} ${rev}\n`)
}
await Promise.all(Array.from({ length: 16 }, async () => {
  for (let n = made++; done < Number(commits); n = made++) {
    const decision = decide(`${round}-${n}`, { context: 'x'.repeat(n % 7 * 300) }, Date.now() % 1_000)
    await put(decision)
    if (n % 2 === 0) await put(answered(decision))
  }
}))
writeSync(1, 'closing\n')
await store.close()
// It waits to be killed, or for its parent to be gone.
process.stdin.resume()
