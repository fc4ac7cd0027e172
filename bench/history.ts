// What a long past costs: a log of so many lines, all of settled tickets, and the store that starts on it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EMPTY_HEAD, headAt, seal } from '../lib/audit'
import { LOG_FILE } from '../lib/node/audit-log'
import { realDisk } from '../lib/node/disk'
import { FileTicketStore } from '../lib/node/file-store'
import { nodeHash } from '../lib/node/replay'
import { bound, latencies, percentile, type Plan, type Print, ratio, short, table } from './harness'
import { answered, enqueued, newId, withStore } from './samples'

const DAY = 86_400_000
const CHUNK_BYTES = 4 * 1_024 * 1_024
const BATCH = 16

/** Writes the log as the store would have, a batch of sixteen after the other, without a sync for each. */
async function writeLog (dir: string, lines: number): Promise<void> {
  const file = await realDisk.open(join(dir, LOG_FILE), 'create')
  const at = Date.now() - 30 * DAY
  let head = EMPTY_HEAD
  let batch = 1
  let end = 0
  let text = ''
  const flush = async (): Promise<void> => {
    const data = Buffer.from(text)
    text = ''
    await file.write(data, end)
    end += data.length
  }
  const write = (decision: Parameters<typeof seal>[0]): void => {
    if (head.seq - batch + 1 >= BATCH) batch = head.seq + 1
    const { entry, line } = seal(decision, { head, batch, instance: 'bench' }, nodeHash)
    text += `${line}\n`
    head = headAt(entry)
  }
  while (head.seq < lines) {
    const decision = enqueued(newId(), at)
    write(decision)
    write(answered(decision, at))
    if (text.length >= CHUNK_BYTES) await flush()
  }
  await flush()
  await file.sync()
  await file.close()
}

async function loadMs (dir: string): Promise<number> {
  const store = new FileTicketStore({ dir, instance: 'bench' })
  const start = performance.now()
  await store.load()
  const took = performance.now() - start
  await store.close()
  return took
}

export async function historyBench (print: Print, { quick }: Plan): Promise<void> {
  const histories = quick ? [0, 20_000] : [0, 20_000, 1_000_000]
  const dirs = histories.map(() => mkdtempSync(join(tmpdir(), 'readyroom-bench-')))
  try {
    const whole: number[] = []
    for (const [i, lines] of histories.entries()) {
      await writeLog(dirs[i]!, lines)
      // Without a snapshot and without an index, as where both were lost.
      whole.push(await loadMs(dirs[i]!))
    }
    const commits: number[][] = histories.map(() => [])
    const loads: number[][] = histories.map(() => [])
    const pages: number[][] = histories.map(() => [])
    // In turns, so that a disk which slows down in between slows all of them down.
    for (let round = 0; round < (quick ? 5 : 15); round++) {
      for (const [i, dir] of dirs.entries()) {
        loads[i]!.push(await loadMs(dir))
        await withStore(dir, realDisk, async store => {
          commits[i]!.push(...await latencies(60, () => store.commit(enqueued(newId(), Date.now()))))
          pages[i]!.push(...await latencies(20, () => store.history(undefined, 50)))
        })
      }
    }
    // The lower quarter: whatever else the machine does falls on all of them, but seldom on each alike.
    const [commit, load, page] = [commits, loads, pages].map(each => each.map(samples => percentile(samples, 0.25))) as [number[], number[], number[]]
    print('## What a long past costs')
    table(print, ['lines in the audit log', 'one commit, ms', 'against none', 'start, ms', 'against none', 'a page of the history, ms', 'start that reads all of it, ms'],
      histories.map((lines, i) => [
        lines.toLocaleString('en-US'), short(commit[i]!), ratio(commit[i]! / commit[0]!), short(load[i]!), ratio(load[i]! / load[0]!), short(page[i]!), short(whole[i]!)
      ]))
    const most = histories.at(-1)!.toLocaleString('en-US')
    print(bound(commit.at(-1)! <= commit[0]! * 1.5, `a commit costs about the same with ${most} lines (${ratio(commit.at(-1)! / commit[0]!)}, at most 1.5x)`))
    print(bound(load.at(-1)! < load[0]! * 2.5, `so does a start (${ratio(load.at(-1)! / load[0]!)}, at most 2.5x)`))
    print('')
  } finally {
    for (const dir of dirs) rmSync(dir, { recursive: true })
  }
}
