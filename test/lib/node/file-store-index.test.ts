import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../../lib/node/sqlite'
import type { TicketStore } from '../../../lib/store'
import { answered, at, decide, START, undone } from '../../helpers/decisions'
import { logLines, memoryLog, openStore } from '../../helpers/file-store'
import { testFolder } from '../../helpers/folder'

const INDEX = 'index.db'
const DAY = 86_400_000
const later = { now: () => START + 2 * DAY }

/** A closed folder of tickets settled two days before the last one was: all but that are read through the index. */
async function folder (t: Test, count: number, dir = testFolder(t)): Promise<string> {
  const store = await openStore(t, dir, later)
  const ids = Array.from({ length: count }, (_, i) => `ticket ${i + 1}`)
  await Promise.all(ids.map(id => store.commit(decide(id))))
  await Promise.all(ids.map((id, i) => store.commit(answered(decide(id), `to ${id}`, i === count - 1 ? 2 * DAY : undefined))))
  await store.close()
  return dir
}

/** What the index must know of such a folder. */
async function check (t: Test, store: TicketStore, count: number): Promise<void> {
  t.equal((await store.get('ticket 1'))?.answer, 'to ticket 1')
  t.equal((await store.get(`ticket ${count}`))?.answer, `to ticket ${count}`)
  t.equal(await store.get('ticket 0'), undefined)
  t.strictSame((await store.since(count - 1, 2)).map(({ seq, event }) => [seq, event]), [[count, 'enqueued'], [count + 1, 'answered']])
  t.strictSame((await store.history(undefined, 2)).map(({ seq }) => seq), [2 * count, 2 * count - 1])
  t.strictSame((await store.history(count + 2, 5)).map(({ seq, ticket }) => [seq, ticket.id]), [[count + 1, 'ticket 1']])
  await t.rejects(store.commit(decide('ticket 1')), { code: 'STALE_WRITE' })
}

t.test('tickets settled long ago are found after a start, without them in memory', async t => {
  const dir = await folder(t, 50)
  t.equal(JSON.parse(readFileSync(join(dir, 'tickets.json'), 'utf8')).count, 1)
  const log = memoryLog()
  const store = await openStore(t, dir, { ...later, log })
  await check(t, store, 50)
  t.strictSame(log.lines, [])
})

t.test('an index that is missing, of another kind, of another log, behind or of a later version is made right', async t => {
  const dir = testFolder(t, { work: {}, other: {}, young: {} })
  const [work, other, young] = ['work', 'other', 'young'].map(name => join(dir, name)) as [string, string, string]
  await folder(t, 2_500, work)
  await folder(t, 40, other)
  const kept = join(dir, 'kept.db')
  copyFileSync(join(work, INDEX), kept)
  writeFileSync(join(young, 'audit.jsonl'), logLines(work).slice(0, 3_000).map(line => `${line}\n`).join(''))
  await (await openStore(t, young, later)).close()

  const put: Record<string, () => void> = {
    missing: () => rmSync(join(work, INDEX)),
    text: () => writeFileSync(join(work, INDEX), 'no database'.repeat(100)),
    empty: () => writeFileSync(join(work, INDEX), ''),
    'of another log': () => copyFileSync(join(other, INDEX), join(work, INDEX)),
    behind: () => copyFileSync(join(young, INDEX), join(work, INDEX)),
    'of a later version': () => {
      copyFileSync(kept, join(work, INDEX))
      const db = openDatabase(join(work, INDEX))
      db.exec('PRAGMA user_version = 99; DROP TABLE entries')
      db.close()
    },
    'without some of its rows': () => {
      copyFileSync(kept, join(work, INDEX))
      const db = openDatabase(join(work, INDEX))
      db.exec('DELETE FROM entries WHERE seq > 4000')
      db.close()
    }
  }
  for (const [name, spoil] of Object.entries(put)) {
    spoil()
    await t.test(name, async t => {
      const store = await openStore(t, work, later)
      await check(t, store, 2_500)
      await store.close()
      const log = memoryLog()
      await (await openStore(t, work, { ...later, log })).close()
      t.strictSame(log.lines, [], 'the next start finds it right')
    })
  }
})

t.test('an index that leads to a wrong place is found out by the line there, and made anew', async t => {
  for (const spoil of [
    'UPDATE entries SET start = start + 7',
    'UPDATE entries SET start = (SELECT start FROM entries WHERE seq = 3), stop = (SELECT stop FROM entries WHERE seq = 3) WHERE seq <> 3',
    'UPDATE entries SET start = -5, stop = 1e15 WHERE seq < 100'
  ]) {
    const dir = await folder(t, 60, testFolder(t))
    const db = openDatabase(join(dir, INDEX))
    db.exec(spoil)
    db.close()
    const log = memoryLog()
    const store = await openStore(t, dir, { ...later, log })
    await Promise.all([check(t, store, 60), check(t, store, 60)])
    t.match(log.lines, [/^warn The index led to a wrong place/], 'once')
    const more = decide('more', {}, 1)
    t.match(await store.commit(more), { seq: 121 })
    await store.close()
    t.notOk(existsSync(join(dir, INDEX)))
    const again = await openStore(t, dir, later)
    await check(t, again, 60)
    t.strictSame(await again.get('more'), more.ticket)
    await again.close()
  }
})

t.test('an old line that is damaged fails the read of it, names it, and nothing else', async t => {
  const dir = await folder(t, 60)
  const lines = logLines(dir)
  writeFileSync(join(dir, 'audit.jsonl'), lines.with(63, lines[63]!.replace('Ship', 'Skip')).map(line => `${line}\n`).join(''))
  const store = await openStore(t, dir, later)
  const damaged = { code: 'STORE_UNAVAILABLE', message: /Line 64 of .*audit\.jsonl/ }
  await t.rejects(store.get('ticket 4'), damaged)
  await t.rejects(store.history(undefined, 100), damaged)
  await t.rejects(store.since(50, 100), damaged)
  t.equal((await store.get('ticket 5'))?.answer, 'to ticket 5')
  t.equal((await store.history(undefined, 50)).length, 50)
  t.equal((await store.since(70, 100)).length, 50)
  t.match(await store.commit(decide('new')), { seq: 121 })
})

t.test('where no index can be written, one in memory does', async t => {
  const dir = await folder(t, 30)
  rmSync(join(dir, INDEX))
  mkdirSync(join(dir, INDEX))
  const log = memoryLog()
  const store = await openStore(t, dir, { ...later, log })
  await check(t, store, 30)
  t.match(log.lines.at(-1), /held in memory until the next start/)
})

t.test('entries that the index has not taken in yet count like all others', async t => {
  const dir = await folder(t, 20)
  const store = await openStore(t, dir, later)
  // The rest of this happens before the index writes a row; ticket 3 was settled in the rows that it has.
  const taken = undone(answered(decide('ticket 3')), 1)
  const [fresh, also] = [decide('fresh', {}, 2), decide('also', {}, 2)]
  for (const decision of [taken, fresh, answered(fresh, 'yes', 3), also]) await store.commit(decision)
  t.equal((await store.get('ticket 3'))?.status, 'pending')
  t.equal((await store.get('fresh'))?.answer, 'yes', 'settled more than a day ago by the clock, so no longer live')
  const history = await store.history(undefined, 30)
  t.strictSame(history.map(({ seq }) => seq), [43, ...Array.from({ length: 20 }, (_, i) => 40 - i).filter(seq => seq !== 23)])
  t.strictSame((await store.since(39, 3)).map(({ id }) => id), ['ticket 20', 'ticket 3', 'fresh'])
  t.equal(store.head().at, at(2))
})

t.test('thousands of commits pass through the index in slices, and every read stays right', async t => {
  const dir = testFolder(t)
  const store = await openStore(t, dir)
  for (let round = 0; round < 6; round++) {
    const ids = Array.from({ length: 700 }, (_, i) => `ticket ${round * 700 + i}`)
    await Promise.all(ids.map(async id => {
      await store.commit(decide(id))
      await store.commit(answered(decide(id), id))
    }))
    const seqs = (await store.since(0, 100_000)).map(({ seq }) => seq)
    t.strictSame(seqs, Array.from({ length: (round + 1) * 1_400 }, (_, i) => i + 1))
    t.equal((await store.history(undefined, 100_000)).length, (round + 1) * 700)
  }
  await store.close()
  const again = await openStore(t, dir, later)
  t.equal((await again.history(undefined, 100_000)).length, 4_200)
  t.equal((await again.get('ticket 4199'))?.answer, 'ticket 4199')
})
