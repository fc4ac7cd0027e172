import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { verifyAudit } from '../../../lib/node/audit-verify'
import { openStore } from '../../helpers/file-store'
import { testFolder } from '../../helpers/folder'

const root = resolve(import.meta.dirname, '../../..')

/** Lets a child commit into the folder until it has acknowledged so many, or says `closing`; then kills it. */
async function killed (t: Test, dir: string, round: number, acknowledged: number, commits: number): Promise<Map<string, number>> {
  const child = spawn(process.execPath, [`--import=${join(root, 'ts-hooks.mjs')}`, join(root, 'test/helpers/store-child.ts'), dir, String(round), String(commits)],
    { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const seen = new Map<string, number>()
  let count = 0
  for await (const line of createInterface(child.stdout)) {
    const [word, id, rev] = line.split(' ')
    if (word === 'ack') {
      count++
      seen.set(id!, Number(rev))
    }
    // What is still in the pipe after this was acknowledged as well, so it is read to its end.
    if (count === acknowledged || word === 'closing') child.kill('SIGKILL')
  }
  const [, signal] = await gone
  t.equal(signal, 'SIGKILL', 'killed while it was at work')
  return seen
}

t.test('a kill at any instant loses nothing that was acknowledged', { timeout: 100_000 }, async t => {
  const dir = testFolder(t)
  const promised = new Map<string, number>()
  for (let round = 0; round < 20; round++) {
    // Every third time in the middle of a close, with its snapshot and its index; otherwise in mid-write.
    const [acknowledged, commits] = round % 3 === 2 ? [Infinity, 150] : [1 + round * 31, 1_000_000]
    for (const [id, rev] of await killed(t, dir, round, acknowledged, commits)) promised.set(id, rev)

    t.match(await verifyAudit(dir), { ok: true }, 'whole lines, and perhaps the beginning of one')
    if (round % 4 !== 3) continue
    // In this process now and then; the children load what the kill before left, every time.
    const store = await openStore(t, dir)
    const wrong: string[] = []
    for (const [id, rev] of promised) {
      const ticket = await store.get(id)
      if (ticket === undefined || ticket.rev < rev) wrong.push(`${id} at ${ticket?.rev}, acknowledged at ${rev}`)
    }
    t.strictSame(wrong, [])
    const whole = await verifyAudit(dir, { head: store.head().hash })
    t.match(whole, { ok: true, entries: store.head().seq })
    t.strictSame((await store.since(0, 1_000_000)).length, whole.entries)
    await store.close()
  }
  t.ok(promised.size > 1_000, `${promised.size} tickets were acknowledged`)
})
