import { appendFileSync, copyFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { seal } from '../../../lib/audit'
import { verifyAudit } from '../../../lib/node/audit-verify'
import { acquireFolder } from '../../../lib/node/folder-lock'
import { nodeHash } from '../../../lib/node/replay'
import { FileTicketStore } from '../../../lib/node/file-store'
import { answered, at, decide } from '../../helpers/decisions'
import { faultyDisk, systemError } from '../../helpers/disk'
import { filesLike, logLines, memoryLog, openStore } from '../../helpers/file-store'
import { testFolder } from '../../helpers/folder'

const LOG = 'audit.jsonl'
const SNAPSHOT = 'tickets.json'
const text = (dir: string, name: string) => readFileSync(join(dir, name), 'utf8')
const writeLog = (dir: string, lines: string[]) => writeFileSync(join(dir, LOG), lines.map(line => `${line}\n`).join(''))

/** A closed folder with so many pending tickets, written one commit at a time. */
async function folder (t: Test, count: number, dir = testFolder(t)): Promise<string> {
  const store = await openStore(t, dir)
  for (let i = 1; i <= count; i++) await store.commit(decide(`ticket ${i}`, {}, i))
  await store.close()
  return dir
}

const idsOf = async (store: Awaited<ReturnType<typeof openStore>>) => (await store.list({})).map(({ id }) => id)

t.test('a start after a clean end reads no line again', async t => {
  const dir = await folder(t, 3)
  const snapshot = JSON.parse(text(dir, SNAPSHOT))
  t.match(snapshot, { version: 1, seq: 3, at: at(3), offset: statSync(join(dir, LOG)).size, count: 3 })
  t.strictSame(snapshot.tickets.map(({ ticket }: { ticket: { id: string } }) => ticket.id), ['ticket 1', 'ticket 2', 'ticket 3'])
  const log = memoryLog()
  const store = await openStore(t, dir, { log })
  t.strictSame(store.head(), { seq: 3, hash: snapshot.hash, at: at(3) })
  t.strictSame(await idsOf(store), ['ticket 1', 'ticket 2', 'ticket 3'])
  t.strictSame(log.lines, [])
})

t.test('entries that a killed process wrote but may not have synced are synced before anybody sees them', async t => {
  const dir = await folder(t, 3)
  rmSync(join(dir, SNAPSHOT))
  rmSync(join(dir, 'index.db'))
  const disk = faultyDisk()
  const store = await openStore(t, dir, { io: disk.io })
  t.equal(disk.count('sync', LOG), 1)
  t.ok(disk.calls.indexOf(`sync ${LOG}`) < disk.calls.indexOf(`read ${LOG}`), 'before the index is fed, which may outlive what is read')
  t.strictSame(await idsOf(store), ['ticket 1', 'ticket 2', 'ticket 3'])
  await store.close()
  t.equal(JSON.parse(text(dir, SNAPSHOT)).seq, 3, 'and the next start need not read them again')

  disk.around = async ({ op, name }, go) => {
    if (op === 'sync' && name === LOG) throw systemError('EIO')
    return go()
  }
  rmSync(join(dir, SNAPSHOT))
  const failing = new FileTicketStore({ dir, instance: 'test', io: disk.io })
  await t.rejects(failing.load(), { name: 'FolderError' }, 'a disk that cannot be relied on refuses to start')
  await failing.close()
})

t.test('the names of a new log and of the folders above it are durable before the first entry is', async t => {
  const dir = join(testFolder(t), 'new', 'state')
  const disk = faultyDisk()
  const first = await openStore(t, dir, { io: disk.io })
  t.ok(['state', 'new'].every(name => disk.count('syncFolder', name) === 1), 'one that a start makes')
  await first.close()
  rmSync(join(dir, SNAPSHOT), { force: true })
  const second = await openStore(t, dir, { io: disk.io })
  t.ok(['state', 'new'].every(name => disk.count('syncFolder', name) >= 2), 'and one that a start before left, which may have been killed')
  await second.commit(decide('one'))
  await second.close()

  const third = await openStore(t, dir, { io: disk.io })
  const count = disk.count('syncFolder', 'new')
  await third.close()
  t.equal(count, 2, 'an entry in it says that they are')

  const failing = faultyDisk(async (call, go) => {
    if (call.op === 'syncFolder' && call.name !== 'other') throw systemError('EACCES')
    return await go()
  })
  const other = await openStore(t, join(testFolder(t), 'other'), { io: failing.io })
  t.match(await other.commit(decide('one')), { seq: 1 }, "what is above may be another user's")
  failing.around = async (call, go) => {
    if (call.op === 'syncFolder') throw systemError('EIO')
    return await go()
  }
  const own = new FileTicketStore({ dir: join(testFolder(t), 'own'), instance: 'test', io: failing.io })
  await t.rejects(own.load(), { name: 'FolderError', message: /EIO/ })
  await own.close()
})

t.test('a snapshot cut anywhere is set aside, and pending tickets come back from the audit log', async t => {
  const dir = await folder(t, 3)
  const whole = readFileSync(join(dir, SNAPSHOT))
  for (const share of [0, 0.01, 0.3, 0.6, 0.9]) {
    writeFileSync(join(dir, SNAPSHOT), whole.subarray(0, Math.floor(whole.length * share)))
    const log = memoryLog()
    const store = await openStore(t, dir, { log })
    t.strictSame(await idsOf(store), ['ticket 1', 'ticket 2', 'ticket 3'], `cut at ${share}`)
    await store.close()
    t.match(log.lines, [/^warn tickets\.json cannot be used: .*kept as tickets\.json\.damaged-.*read from audit\.jsonl/])
  }
  const kept = filesLike(dir, 'damaged')
  t.equal(kept.length, 5)
  t.match(kept[0], /^tickets\.json\.damaged-2026-03-01T12-00-00\.000Z$/)
  t.equal(statSync(join(dir, kept[0]!)).size, 0)
})

t.test('a snapshot changed in a single byte, or in place of which something else stands, is not believed', async t => {
  const dir = await folder(t, 2)
  const whole = text(dir, SNAPSHOT)
  const others = ['null', '[]', '{"version":2,"tickets":[\n]}\n', `${whole}more\n`, '\0'.repeat(500),
    whole.replace('"pending"', '"expired"'), whole.replace('"seq":2', '"seq":1')]
  for (const other of others) {
    writeFileSync(join(dir, SNAPSHOT), other)
    const log = memoryLog()
    const store = await openStore(t, dir, { log })
    t.strictSame((await store.list({ status: 'pending' })).length, 2)
    t.equal(store.head().seq, 2)
    await store.close()
    t.equal(log.lines.length, 1, JSON.stringify(other.slice(0, 40)))
  }
  t.equal(filesLike(dir, 'damaged').length, others.length)
})

t.test('a snapshot of another log, and one of a longer log, are set aside', async t => {
  const dir = testFolder(t, { one: {}, two: {} })
  const [one, two] = [await folder(t, 3, join(dir, 'one')), join(dir, 'two')]
  const other = await openStore(t, two, { instance: 'other' })
  for (const id of ['v', 'w', 'x', 'y', 'z']) await other.commit(decide(id))
  await other.close()
  copyFileSync(join(one, SNAPSHOT), join(two, SNAPSHOT))
  const log = memoryLog()
  const store = await openStore(t, two, { log })
  t.strictSame(await idsOf(store), ['v', 'w', 'x', 'y', 'z'])
  await store.close()
  t.match(log.lines, [/does not belong to this audit log/])

  writeLog(one, logLines(one).slice(0, 2))
  const shorter = await openStore(t, one, { log })
  t.strictSame(await idsOf(shorter), ['ticket 1', 'ticket 2'])
  t.match(log.lines[1], /^error .+covers 3 entries, and the audit log ends before that.+Tickets may be missing/)
  t.equal(JSON.parse(text(one, filesLike(one, 'damaged')[0]!)).count, 3, 'what only the snapshot knew is kept')
})

t.test('an end that the snapshot proves to have been whole is not called an interrupted write', async t => {
  for (const [line, spoil] of [[3, (log: string) => log.slice(0, -1)], [1, (log: string) => log.replaceAll('\n', '\r\n')]] as const) {
    const dir = await folder(t, 3, testFolder(t))
    writeFileSync(join(dir, LOG), spoil(text(dir, LOG)))
    const log = memoryLog()
    const store = await openStore(t, dir, { log })
    t.equal((await idsOf(store)).length, line - 1)
    t.match(log.lines.at(-1), new RegExp(`^error audit\\.jsonl is damaged from line ${line} on.*was whole once.*audit\\.jsonl\\.torn-.*may be in it.*backup`))
    await store.close()
  }
})

t.test('a log that is gone while the snapshot has tickets is asked for, and nothing is touched', async t => {
  for (const spoil of [rmSync, (path: string) => truncateSync(path)]) {
    const dir = await folder(t, 2, testFolder(t))
    const was = text(dir, SNAPSHOT)
    spoil(join(dir, LOG))
    const opening = openStore(t, dir)
    await t.rejects(opening, { name: 'FolderError', message: /audit\.jsonl is missing or empty, but .*tickets\.json names 2 tickets.*Put audit\.jsonl back/ })
    t.equal(text(dir, SNAPSHOT), was)
    acquireFolder(dir).release()
    rmSync(join(dir, SNAPSHOT))
    t.strictSame(await idsOf(await openStore(t, dir)), [], 'doing what the message says helps')
  }
})

t.test('a last line cut at any byte is set aside, and the log goes on from the line before', async t => {
  const dir = await folder(t, 3)
  const whole = readFileSync(join(dir, LOG))
  const from = whole.lastIndexOf('\n', whole.length - 2) + 1
  const cuts = Array.from({ length: whole.length - from - 1 }, (_, i) => from + 1 + i)
    .filter((_, i, { length }) => i % 23 === 0 || i > length - 3)
  for (const cut of cuts) {
    const fresh = testFolder(t, { [LOG]: whole.subarray(0, cut) })
    const log = memoryLog()
    const store = await openStore(t, fresh, { log })
    t.strictSame(await idsOf(store), ['ticket 1', 'ticket 2'])
    t.match(log.lines, [/^warn The last write to audit\.jsonl was interrupted: line 3 ends in the middle.*kept as audit\.jsonl\.torn-/])
    const [torn] = filesLike(fresh, 'torn')
    t.strictSame(readFileSync(join(fresh, torn!)), whole.subarray(from, cut))
    t.equal(statSync(join(fresh, torn!)).mode & 0o777, 0o600)
    t.match(await store.commit(decide('new')), { seq: 3, batch: 3 })
    await store.close()
    t.match(await verifyAudit(fresh), { ok: true, entries: 3 })
  }
  t.ok(cuts.length > 10)
})

t.test('a write of many entries that was interrupted is set aside from its first bad line on', async t => {
  const dir = testFolder(t)
  const store = await openStore(t, dir)
  await store.commit(decide('before'))
  await Promise.all(['a', 'b', 'c', 'd'].map(id => store.commit(decide(id))))
  await store.close()
  const lines = logLines(dir)
  t.strictSame(lines.map(line => JSON.parse(line).batch), [1, 2, 2, 2, 2])
  // A disk may have written the later pages of a write and not the earlier ones.
  for (const [bad, left] of [[1, ['before']], [2, ['a', 'before']], [4, ['a', 'b', 'before', 'c']]] as const) {
    const fresh = testFolder(t)
    const spoilt = lines.with(bad, '\0'.repeat(lines[bad]!.length))
    writeLog(fresh, spoilt)
    const again = await openStore(t, fresh)
    t.strictSame(await idsOf(again), left)
    t.equal(text(fresh, filesLike(fresh, 'torn')[0]!), spoilt.slice(bad).map(line => `${line}\n`).join(''))
    await again.close()
    t.match(await verifyAudit(fresh), { ok: true, entries: bad })
  }
})

t.test('zeros and noise behind the last entry, as a power cut leaves them, are set aside', async t => {
  for (const noise of ['\0'.repeat(8_192), '\n', '\n\n{}\n', 'x'.repeat(5 * 1024 * 1024)]) {
    const dir = testFolder(t)
    await folder(t, 2, dir)
    appendFileSync(join(dir, LOG), noise)
    const store = await openStore(t, dir)
    t.equal(store.head().seq, 2)
    t.equal(text(dir, filesLike(dir, 'torn')[0]!), noise)
    await store.close()
    t.match(await verifyAudit(dir), { ok: true, entries: 2 })
  }
})

t.test('a bad line with a later write behind it refuses to start, names file and line, and touches nothing', async t => {
  const dir = await folder(t, 6)
  const lines = logLines(dir)
  for (const bad of [0, 2, 4]) {
    for (const spoilt of [lines.with(bad, lines[bad]!.replace('Ship', 'Skip')), lines.with(bad, ''), lines.toSpliced(bad, 1)]) {
      const fresh = testFolder(t)
      writeLog(fresh, spoilt)
      await t.rejects(openStore(t, fresh), {
        name: 'DamagedLogError', line: bad + 1, path: join(fresh, LOG), message: new RegExp(`Line ${bad + 1} of .*${LOG} is damaged.*READYROOM_STATE_DIR`)
      })
      t.strictSame(logLines(fresh), spoilt)
      acquireFolder(fresh).release()
    }
  }
})

t.test('the line is counted from the start of the file where the snapshot covers what is before it', async t => {
  const dir = await folder(t, 3)
  const store = await openStore(t, dir)
  const kept = [readFileSync(join(dir, SNAPSHOT)), readFileSync(join(dir, 'index.db'))] as const
  for (const id of ['a', 'b', 'c']) await store.commit(decide(id))
  await store.close()
  // As a kill would have left it: the snapshot and the index of the start.
  writeFileSync(join(dir, SNAPSHOT), kept[0])
  writeFileSync(join(dir, 'index.db'), kept[1])
  const lines = logLines(dir)
  writeLog(dir, lines.with(4, lines[4]!.replace('Ship', 'Skip')))
  await t.rejects(openStore(t, dir), { name: 'DamagedLogError', line: 5 })
  writeLog(dir, lines.with(5, lines[5]!.slice(0, 50)))
  t.strictSame(await idsOf(await openStore(t, dir)), ['a', 'b', 'ticket 1', 'ticket 2', 'ticket 3'])
})

t.test('a bad last line that the index or the snapshot covers had been durable: it is damage, not an interrupted write', async t => {
  const dir = await folder(t, 3)
  const lines = logLines(dir)
  writeLog(dir, lines.with(2, lines[2]!.replace('Ship', 'Skip')))
  rmSync(join(dir, SNAPSHOT))
  await t.rejects(openStore(t, dir), { name: 'DamagedLogError', line: 3 })
  t.strictSame(filesLike(dir, 'torn'), [])
})

t.test('a line that fits the chain but not the one before it is not taken', async t => {
  const dir = await folder(t, 2)
  const forged = seal(answered(decide('ticket 1')), { head: { seq: 2, hash: 'f'.repeat(64) }, batch: 3, instance: 'other' }, nodeHash)
  appendFileSync(join(dir, LOG), `${forged.line}\n`)
  const store = await openStore(t, dir)
  t.equal(store.head().seq, 2)
  t.equal((await store.get('ticket 1'))?.status, 'pending')
  t.equal(filesLike(dir, 'torn').length, 1)
})
