import { join } from 'node:path'
import { EMPTY_HEAD, headAt, seal } from '../lib/audit'
import { type Disk, realDisk } from '../lib/node/disk'
import { nodeHash } from '../lib/node/replay'
import { disks } from './disks'
import { bound, type Plan, type Print, ratio, short, table, throughput } from './harness'
import { enqueued, newId, withFolder, withStore } from './samples'

const SECONDS = 1_000
const COMMITTERS = [1, 16, 64]

const commits = (io: Disk, committers: number, ms: number): Promise<number> =>
  withFolder(dir => withStore(dir, io, store => throughput(committers, ms, () => store.commit(enqueued(newId(), Date.now())))))

/** The plainest durable log there is: a line, a write, a sync, then the next. */
const oneSyncEach = (io: Disk, ms: number): Promise<number> => withFolder(async dir => {
  const file = await io.open(join(dir, 'plain.jsonl'), 'create')
  let head = EMPTY_HEAD
  let end = 0
  try {
    return await throughput(1, ms, async () => {
      const { entry, line } = seal(enqueued(newId(), Date.now()), { head, batch: head.seq + 1, instance: 'bench' }, nodeHash)
      const data = Buffer.from(`${line}\n`)
      await file.write(data, end)
      await file.sync()
      end += data.length
      head = headAt(entry)
    })
  } finally {
    await file.close()
  }
})

async function commitRates (print: Print, title: string, io: Disk, ms: number): Promise<void> {
  // In turns, and against the best of the plain runs, so that a disk which was busy for a while flatters nobody.
  let plain = 0
  const runs: Array<{ committers: number, rate: number, unsynced: number }> = []
  for (const committers of COMMITTERS) {
    plain = Math.max(plain, await oneSyncEach(io, ms))
    runs.push({ committers, rate: await commits(io, committers, ms), unsynced: await commits(disks.unsynced, committers, ms) })
  }
  const rows = runs.map(({ committers, rate, unsynced }) =>
    [String(committers), short(rate), ratio(rate / plain), ratio(unsynced / rate), short(unsynced)])
  const last = runs.at(-1)!.rate / plain
  print(`Commits a second, ${title}; one sync per commit: ${short(plain)}`)
  table(print, ['committers at once', 'commits/s', 'against one sync per commit', 'no sync against it', 'commits/s, no sync'], rows)
  print(bound(last >= 8, `64 committers reach at least 8 times one sync per commit (${ratio(last)})`))
  print('')
}

/** The store alone, without a transport before it. */
export async function storeBench (print: Print, { quick }: Plan): Promise<void> {
  const ms = quick ? 500 : 2 * SECONDS
  print('## The store alone')
  await commits(realDisk, 16, 500)
  await commitRates(print, 'this disk', realDisk, ms)
  await commitRates(print, 'each sync 10 ms slower', disks.slow, ms)
}
