import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { EMPTY_HEAD } from '../../../lib/audit'
import { readAudit, verifyAudit } from '../../../lib/node/audit-verify'
import { realDisk } from '../../../lib/node/disk'
import { FileTicketStore } from '../../../lib/node/file-store'
import { at, decide, START } from '../../helpers/decisions'
import { testFolder } from '../../helpers/folder'

async function written (t: Test, count: number) {
  const dir = testFolder(t)
  const store = new FileTicketStore({ dir, instance: 'test', now: () => START })
  t.teardown(() => store.close())
  await store.load()
  for (let i = 1; i <= count; i++) await store.commit(decide(`ticket ${i}`, {}, i))
  const path = join(dir, 'audit.jsonl')
  const lines = () => readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return { dir, store, path, lines }
}

async function all (dir: string, since?: number | string): Promise<number[]> {
  const seqs: number[] = []
  for await (const { seq } of readAudit(dir, since === undefined ? {} : { since })) seqs.push(seq)
  return seqs
}

t.test('a log that holds is reported with its head, while the daemon has it open too', async t => {
  const { dir, store, path } = await written(t, 5)
  t.strictSame(await verifyAudit(dir), { path, ok: true, entries: 5, head: store.head() })
  await store.close()
  t.strictSame(await verifyAudit(dir), { path, ok: true, entries: 5, head: store.head() })
})

t.test('a check that is told to stop says for how much it speaks', async t => {
  const { dir } = await written(t, 3)
  t.match(await verifyAudit(dir, { signal: AbortSignal.abort() }), { ok: true, entries: 0, stopped: true })
  t.equal((await verifyAudit(dir, { signal: new AbortController().signal })).stopped, undefined)
})

t.test('no log and an empty log are logs without entries', async t => {
  const dir = testFolder(t)
  const path = join(dir, 'audit.jsonl')
  t.strictSame(await verifyAudit(dir), { path, ok: true, entries: 0, head: EMPTY_HEAD })
  t.strictSame(await all(dir), [])
  writeFileSync(path, '')
  t.strictSame(await verifyAudit(dir), { path, ok: true, entries: 0, head: EMPTY_HEAD })
})

t.test('the first line that was changed, left out, doubled or swapped is named, with the reason', async t => {
  const { dir, path, lines } = await written(t, 6)
  const good = lines()
  const check = async (changed: string[]) => {
    writeFileSync(path, changed.map(line => `${line}\n`).join(''))
    const { ok, entries, fault } = await verifyAudit(dir)
    t.equal(ok, false)
    t.equal(entries, fault!.line - 1)
    return `${fault!.line} ${fault!.reason}`
  }
  t.equal(await check(good.with(2, good[2]!.replace('Ship it?', 'Skip it?'))), '3 does not match its own hash')
  t.equal(await check(good.toSpliced(2, 1)), '3 carries seq 4 where 3 follows')
  t.equal(await check(good.toSpliced(2, 0, good[2]!)), '4 carries seq 3 where 4 follows')
  t.equal(await check(good.with(1, good[2]!).with(2, good[1]!)), '2 carries seq 3 where 2 follows')
  t.equal(await check(good.toSpliced(4, 0, '')), '5 is empty')
  t.equal(await check(good.slice(1)), '1 carries seq 2 where 1 follows')
  const other = await written(t, 6)
  t.equal(await check(good.with(3, other.lines()[3]!.replace('"instance":"test"', '"instance":"else"'))), '4 does not match its own hash')
})

t.test('an entry sealed anew after a change breaks the chain at the next line', async t => {
  const { dir, path, lines } = await written(t, 4)
  const good = lines()
  const { seal } = await import('../../../lib/audit')
  const second = JSON.parse(good[1]!)
  const forged = seal({ event: { event: 'enqueued', at: second.at, actor: 'other' }, ticket: second.ticket },
    { head: { seq: 1, hash: second.prev }, batch: 2, instance: 'test' }).line
  writeFileSync(path, good.with(1, forged).map(line => `${line}\n`).join(''))
  t.strictSame((await verifyAudit(dir)).fault, { line: 3, reason: 'does not name the hash of the line before it' })
})

t.test('a hash noted elsewhere shows that the end of the log was cut off', async t => {
  const { dir, store, path, lines } = await written(t, 4)
  const noted = store.head().hash
  await store.commit(decide('later'))
  t.match(await verifyAudit(dir, { head: noted }), { ok: true, entries: 5, noted: { hash: noted, seq: 4 } })
  t.match(await verifyAudit(dir, { head: noted.toUpperCase() }), { ok: true })
  await store.close()
  writeFileSync(path, lines().slice(0, 3).map(line => `${line}\n`).join(''))
  t.match(await verifyAudit(dir), { ok: true, entries: 3 }, 'without it, a shorter log is a good log')
  t.match(await verifyAudit(dir, { head: noted }), { ok: false, entries: 3, noted: { hash: noted, seq: undefined } })
  rmSync(path)
  t.match(await verifyAudit(dir, { head: noted }), { ok: false, entries: 0 })
})

t.test('a last line that is being written does not count', async t => {
  const { dir, path } = await written(t, 3)
  appendFileSync(path, '{"seq":4,"batch":4')
  t.match(await verifyAudit(dir), { ok: true, entries: 3, unfinished: 18 })
  t.strictSame(await all(dir), [1, 2, 3])
  truncateSync(path, 500)
  t.match(await verifyAudit(dir), { ok: true, entries: 1 })
})

t.test('a write that failed and is cut back while the log is read is not taken for damage', async t => {
  const { dir, path, lines } = await written(t, 3)
  const good = lines()
  writeFileSync(path, [...good.slice(0, 2), good[2]!.slice(0, 40), ''].join('\n'))
  let reads = 0
  const { ok, entries } = await verifyAudit(dir, {
    io: {
      ...realDisk,
      async open (path, how) {
        const file = await realDisk.open(path, how)
        const size = file.size.bind(file)
        file.size = async () => {
          if (++reads === 2) writeFileSync(path, good.map(line => `${line}\n`).join(''))
          return await size()
        }
        return file
      }
    }
  })
  t.strictSame([ok, entries, reads], [true, 3, 2])
})

t.test('a line far too long to be an entry is passed over without being held', async t => {
  const { dir, path } = await written(t, 2)
  appendFileSync(path, `${'x'.repeat(9 * 1024 * 1024)}\nshort\n`)
  t.strictSame((await verifyAudit(dir)).fault, { line: 3, reason: 'is longer than any entry' })
  await t.rejects(all(dir), { message: /Line 3 of .*audit\.jsonl cannot be read: it is longer than any entry/ })
})

t.test('the log reads from a seq or from a time on', async t => {
  const { dir } = await written(t, 5)
  t.strictSame(await all(dir), [1, 2, 3, 4, 5])
  t.strictSame(await all(dir, 3), [4, 5])
  t.strictSame(await all(dir, at(4)), [4, 5])
  t.strictSame(await all(dir, '2100-01-01'), [])
})
