import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EMPTY_HEAD, headAt, seal } from '../lib/audit'
import { type Disk, realDisk } from '../lib/node/disk'
import { FileTicketStore } from '../lib/node/file-store'
import { nodeHash } from '../lib/node/replay'
import type { Decision } from '../lib/store'
import { disks } from './disks'
import { bound, latencies, median, type Print, ratio, short, table, throughput } from './harness'

const SECONDS = 1_000
const DAY = 86_400 * SECONDS
const COMMITTERS = [1, 16, 64]
const HISTORIES = [0, 10_000, 200_000]

/** A ticket of an ordinary size: about 700 bytes in the log. */
function enqueued (id: string, at: number): Decision {
  const created = new Date(at).toISOString()
  return {
    ticket: {
      id,
      stream: 'agent in a project',
      question: 'The migration drops a column that two reports still read. Go on with it?',
      options: ['go on', 'keep the column', 'stop'],
      context: 'Column accounts.legacy_ref, 4,112 rows not null. '.repeat(4),
      urgency: 'normal',
      status: 'pending',
      created_at: created,
      expires_at: new Date(at + 1_800 * SECONDS).toISOString(),
      rev: 1
    },
    event: { event: 'enqueued', at: created, actor: 'agent in a project' }
  }
}

function answered ({ ticket }: Decision, at: number): Decision {
  const answeredAt = new Date(at).toISOString()
  return {
    ticket: { ...ticket, status: 'answered', answer: 'go on', answered_by: 'human', answered_at: answeredAt, rev: 2 },
    event: { event: 'answered', at: answeredAt, actor: 'human' }
  }
}

let made = 0
const newId = (): string => `01900000-0000-7000-8000-${String(made++).padStart(12, '0')}`

async function withFolder<T> (use: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'readyroom-bench-'))
  try {
    return await use(dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

async function withStore<T> (dir: string, io: Disk, use: (store: FileTicketStore) => Promise<T>): Promise<T> {
  const store = new FileTicketStore({ dir, instance: 'bench', io })
  await store.load()
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

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

/** A folder whose log tells of so many tickets, all settled a month ago. */
async function fill (dir: string, settled: number): Promise<void> {
  const at = Date.now() - 30 * DAY
  await withStore(dir, disks.unsynced, async store => {
    let left = settled
    await Promise.all(Array.from({ length: 256 }, async () => {
      while (left-- > 0) {
        const decision = enqueued(newId(), at)
        await store.commit(decision)
        await store.commit(answered(decision, at))
      }
    }))
  })
}

async function startMs (dir: string): Promise<number> {
  const store = new FileTicketStore({ dir, instance: 'bench' })
  const start = performance.now()
  await store.load()
  const took = performance.now() - start
  await store.close()
  return took
}

async function history (print: Print): Promise<void> {
  const dirs = HISTORIES.map(() => mkdtempSync(join(tmpdir(), 'readyroom-bench-')))
  try {
    for (const [i, settled] of HISTORIES.entries()) await fill(dirs[i]!, settled)
    const costs: number[][] = HISTORIES.map(() => [])
    const starts: number[][] = HISTORIES.map(() => [])
    // In turns, so that a disk which slows down in between slows all of them down.
    for (let round = 0; round < 15; round++) {
      for (const [i, dir] of dirs.entries()) {
        starts[i]!.push(await startMs(dir))
        await withStore(dir, realDisk, async store => {
          costs[i]!.push(...await latencies(60, () => store.commit(enqueued(newId(), Date.now()))))
        })
      }
    }
    const [cost, start] = [costs.map(median), starts.map(median)]
    print('Commit and start with a history of settled tickets')
    table(print, ['settled tickets', 'one commit, ms', 'against none', 'start (load), ms', 'against none'], HISTORIES.map((settled, i) =>
      [settled.toLocaleString('en-US'), short(cost[i]!), ratio(cost[i]! / cost[0]!), short(start[i]!), ratio(start[i]! / start[0]!)]))
    print(bound(cost.at(-1)! <= cost[0]! * 1.2, 'a commit costs at most 1.2 times as much with 200,000 settled tickets'))
    print(bound(start.at(-1)! < start[0]! * 2, 'a start takes less than twice as long with 200,000 settled tickets'))
    print('')
  } finally {
    for (const dir of dirs) rmSync(dir, { recursive: true })
  }
}

/** The store alone, without a transport before it. */
export async function storeBench (print: Print): Promise<void> {
  await commits(realDisk, 16, 500)
  await commitRates(print, 'this disk', realDisk, 2 * SECONDS)
  await commitRates(print, 'each sync 10 ms slower', disks.slow, 2 * SECONDS)
  await history(print)
}

if (import.meta.main) await storeBench(line => process.stdout.write(`${line}\n`))
