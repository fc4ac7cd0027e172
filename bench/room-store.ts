// The rooms' database alone, on its thread: claims on a board that many want, and what is new beside a long log.
import { join } from 'node:path'
import { ROOM_DB } from '../lib/node/room/open-rooms'
import { SqliteRoomStore } from '../lib/node/room/sqlite-room-store'
import { openDatabase } from '../lib/node/sqlite'
import type { CallHead } from '../lib/room/store'
import { durableRoundTrips } from './floors'
import { bound, latencies, median, percentile, type Plan, type Print, ratio, short, table } from './harness'
import { withFolder } from './samples'

const CLAIMERS = 64
const NEW = 10

const head = (room: string, name: string): CallHead => ({ actor: { name, kind: 'agent', admin: false }, room, now: Date.now() })
const system = (room: string): CallHead => ({ actor: { name: 'system', kind: 'system', admin: true }, room, now: Date.now() })

const withRooms = <T>(use: (store: SqliteRoomStore, file: string) => Promise<T>): Promise<T> => withFolder(async dir => {
  const file = join(dir, ROOM_DB)
  const store = new SqliteRoomStore(file)
  await store.open()
  try {
    return await use(store, file)
  } finally {
    await store.close()
  }
})

interface Claims { claims: number, tries: number }

/** Tasks claimed a second, and tries a second: on one board everybody wants the same task first. */
const claims = (boards: number, tasks: number): Promise<Claims> => withRooms(async store => {
  const rooms = Array.from({ length: boards }, (_, n) => `board-${n}`)
  await Promise.all(rooms.map(room => store.run('addRoom', system(room), {})))
  const each = Math.ceil(tasks / boards)
  await Promise.all(rooms.flatMap(room => Array.from({ length: each }, (_, n) => store.run('createTask', head(room, 'planner'), { title: `Task ${n}` }))))
  const taken = new Map<string, number>()
  let tries = 0
  const claimer = async (n: number): Promise<void> => {
    for (let r = n; r < n + boards; r += boards >= CLAIMERS ? CLAIMERS : 1) {
      const room = rooms[r % boards]!
      for (let id = 1; id <= each; id++) {
        const key = `${room} ${id}`
        if (taken.has(key)) continue
        tries++
        const won = await store.run('claimTask', head(room, `agent-${n}`), { task_id: id }).then(() => true, () => false)
        if (won) taken.set(key, (taken.get(key) ?? 0) + 1)
      }
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: CLAIMERS }, (_, n) => claimer(n)))
  const seconds = (performance.now() - start) / 1_000
  if (taken.size !== each * boards || [...taken.values()].some(winners => winners !== 1)) throw new Error('A task was claimed twice, or not at all')
  return { claims: taken.size / seconds, tries: tries / seconds }
})

/** Writes a log of so many messages past the commands, a row each, as they would have. */
function fill (file: string, room: string, events: number): void {
  const database = openDatabase(file)
  try {
    database.exec('BEGIN')
    database.prepare(`INSERT INTO events (room, id, at, actor, actor_kind, kind, message_id, body)
      WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?)
      SELECT ?, id, '2026-05-01T10:00:00.000Z', 'somebody', 'agent', 'message_posted', id, 'The build of the second branch is green again; go on with the review.' FROM n`)
      .run(events, room)
    database.prepare('UPDATE rooms SET event_seq = ?, message_seq = ? WHERE name = ?').run(events, events, room)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}

async function news (print: Print, { quick }: Plan): Promise<void> {
  const sizes = quick ? [0, 10_000] : [0, 10_000, 1_000_000]
  await withRooms(async (store, file) => {
    const samples: number[][] = sizes.map(() => [])
    const posts: number[][] = sizes.map(() => [])
    for (const size of sizes) {
      const room = `log-${size}`
      await store.run('addRoom', system(room), {})
      if (size > 0) fill(file, room, size)
      await store.run('whatsNew', head(room, 'reader'), {})
      await store.run('postMessage', head(room, 'writer'), { body: 'Hello' })
      await store.run('whatsNew', head(room, 'reader'), {})
    }
    for (let round = 0; round < (quick ? 30 : 100); round++) {
      for (const [i, size] of sizes.entries()) {
        const room = `log-${size}`
        posts[i]!.push(...await latencies(NEW, n => store.run('postMessage', head(room, 'writer'), { body: `Message ${n}` })))
        samples[i]!.push(...await latencies(1, async () => {
          const { result } = await store.run('whatsNew', head(room, 'reader'), {})
          if (result.events.length !== NEW) throw new Error(`${result.events.length} events are new, not ${NEW}`)
        }))
      }
    }
    const [costs, post] = [samples, posts].map(each => each.map(median)) as [number[], number[]]
    print(`What is new (${NEW} events), and one message, beside a log of so many events`)
    table(print, ['events in the log', 'whats_new, ms', 'against none', 'post_message, ms', 'against none'],
      sizes.map((size, i) => [size.toLocaleString('en-US'), short(costs[i]!), ratio(costs[i]! / costs[0]!), short(post[i]!), ratio(post[i]! / post[0]!)]))
    const worst = percentile(samples.at(-1)!, 0.25) / percentile(samples[0]!, 0.25)
    print(bound(worst <= 1.3, `whats_new costs by what is new: at most 1.3x with ${sizes.at(-1)!.toLocaleString('en-US')} events (${ratio(worst)} at the lower quarter)`))
    print('')
  })
}

export async function roomStoreBench (print: Print, plan: Plan): Promise<void> {
  const tasks = plan.quick ? 500 : 3_000
  const floor = 1_000 / median(await durableRoundTrips(200))
  print(`## Claims, ${CLAIMERS} agents at once`)
  const rows = [['bare loopback POST with one sync, one after the other', short(floor), '1x', '']]
  for (const boards of [1, 100]) {
    const { claims: rate, tries } = await claims(boards, tasks)
    rows.push([boards === 1 ? 'one board, everybody after the same task' : `${boards} boards`, short(rate), ratio(rate / floor), short(tries)])
  }
  table(print, ['', 'tasks claimed a second', 'against it', 'tries a second'], rows)
  await news(print, plan)
}
