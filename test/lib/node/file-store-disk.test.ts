import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { verifyAudit } from '../../../lib/node/audit-verify'
import { acquireFolder, FolderHeldError } from '../../../lib/node/folder-lock'
import { answered, at, cancelled, decide } from '../../helpers/decisions'
import { type Around, faultyDisk, fullInTheMiddle, systemError } from '../../helpers/disk'
import { filesLike, logLines, memoryLog, openStore } from '../../helpers/file-store'
import { testFolder } from '../../helpers/folder'

const LOG = 'audit.jsonl'
const unavailable = { code: 'STORE_UNAVAILABLE' }
const settle = (commits: Array<Promise<unknown>>) => Promise.allSettled(commits).then(all => all.map(({ status }) => status))

t.test('what arrives while a sync is under way shares the next write, and its batch is its first seq', async t => {
  const disk = faultyDisk()
  const store = await openStore(t, testFolder(t), { io: disk.io })
  const [syncing, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  disk.around = async ({ op, name }, go) => {
    if (op === 'sync' && name === LOG) {
      syncing.resolve()
      await release.promise
    }
    return await go()
  }
  const first = store.commit(decide('first'))
  await syncing.promise
  const rest = Array.from({ length: 50 }, (_, i) => store.commit(decide(`ticket ${i}`)))
  release.resolve()
  t.match(await first, { seq: 1, batch: 1 })
  t.strictSame((await Promise.all(rest)).map(({ batch }) => batch), Array(50).fill(2))
  t.equal(disk.count('write', LOG), 2)
  t.equal(disk.count('sync', LOG), 2)
})

t.test('nothing of a commit shows before its sync has ended, and a rival is refused only then', async t => {
  const disk = faultyDisk()
  const dir = testFolder(t)
  const store = await openStore(t, dir, { io: disk.io })
  const one = decide('one')
  await store.commit(one)
  const before = store.head()
  const [syncing, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  disk.around = async ({ op, name }, go) => {
    if (op === 'sync' && name === LOG) {
      syncing.resolve()
      await release.promise
    }
    return await go()
  }
  let ended = 0
  const commits = [store.commit(answered(one)), store.commit(decide('two'))]
  for (const commit of commits) commit.finally(() => { ended++ })
  await syncing.promise
  const rival = store.commit(cancelled(one)).then(() => t.fail('the rival must be refused'), err => {
    t.match(err, { code: 'STALE_WRITE' })
    t.equal(store.head().seq, 3, 'the refusal comes when the outcome can be read')
  })
  t.strictSame(store.head(), before)
  t.strictSame(await store.list({}), [one.ticket])
  t.strictSame(await store.get('one'), one.ticket)
  t.equal(await store.get('two'), undefined)
  t.equal((await store.since(0, 10)).length, 1)
  t.strictSame(await store.history(undefined, 10), [])
  t.equal(logLines(dir).length, 3, 'the lines are in the file already')
  t.equal(ended, 0)
  release.resolve()
  await Promise.all(commits)
  await rival
  t.equal((await store.get('one'))?.answer, 'yes')
})

for (const [what, op, around, says] of [
  ['a disk that fills up in the middle of a write', 'write', fullInTheMiddle, /the disk is full \(ENOSPC\).*Nothing was saved.*Free some space/],
  ['a sync that fails', 'sync', async () => { throw systemError('EIO') }, /input\/output error \(EIO\).*Nothing was saved.*Check the disk/],
  ['a disk that turns read-only', 'write', async () => { throw systemError('EROFS') }, /read-only \(EROFS\).*Nothing was saved/]
] as const) {
  t.test(`${what} fails its whole batch, changes nothing, and is over when the disk is well`, async t => {
    const disk = faultyDisk()
    const log = memoryLog()
    const dir = testFolder(t)
    const store = await openStore(t, dir, { io: disk.io, log })
    const one = decide('one')
    await store.commit(one)
    const [head, size] = [store.head(), statSync(join(dir, LOG)).size]
    let faults = 0
    disk.around = async (call, go) => {
      // The first time only: the sync of the cut that follows it succeeds.
      if (call.op === op && call.name === LOG && faults++ === 0) return await around(call, go)
      return await go()
    }
    const commits = [answered(one), decide('two'), decide('three')].map(decision => store.commit(decision))
    await t.rejects(commits[0]!, { ...unavailable, message: says })
    await t.rejects(commits[0]!, { message: dir })
    t.strictSame(await settle(commits), ['rejected', 'rejected', 'rejected'])
    t.strictSame(store.head(), head)
    t.strictSame(await store.list({}), [one.ticket])
    t.equal(statSync(join(dir, LOG)).size, size, 'the file is cut back before anybody is told')
    t.equal(log.lines.length, 1)
    t.match(log.lines[0], /^error A write to the audit log failed/)

    t.strictSame(await Promise.all([answered(one), decide('two')].map(async decision => (await store.commit(decision)).seq)), [2, 3])
    t.match(await verifyAudit(dir), { ok: true, entries: 3 })
    await store.close()
    t.strictSame((await (await openStore(t, dir)).list({})).map(({ id, rev }) => [id, rev]), [['one', 2], ['two', 1]])
  })
}

t.test('while the file cannot be cut back every commit fails, and the first after that goes through', async t => {
  const disk = faultyDisk()
  const dir = testFolder(t)
  const store = await openStore(t, dir, { io: disk.io })
  await store.commit(decide('one'))
  let broken = true
  disk.around = async (call, go) => {
    if (!broken || call.name !== LOG) return await go()
    if (call.op === 'write') return await fullInTheMiddle(call, go)
    if (call.op === 'truncate' || call.op === 'sync') throw systemError('EIO')
    return await go()
  }
  await t.rejects(store.commit(decide('two')), { ...unavailable, message: /ENOSPC.*could not be taken back.*may be there at the next start.*look whether/ })
  const writes = disk.count('write', LOG)
  await t.rejects(store.commit(decide('two')), { ...unavailable, message: /EIO.*Nothing was saved/ }, 'this one was never written')
  t.equal(disk.count('write', LOG), writes, 'nothing is written behind what is not known to be whole')
  broken = false
  t.match(await store.commit(decide('two')), { seq: 2 })
  t.match(await verifyAudit(dir), { ok: true, entries: 2 })
})

t.test('what callers were told is not saved is taken back as soon as the disk lets it, though nobody asks, and at the end', async t => {
  const broken: Around = async (call, go) => {
    if (call.name === LOG && (call.op === 'sync' || call.op === 'truncate')) throw systemError('EIO')
    return await go()
  }
  for (const how of ['by itself', 'at the end']) {
    const disk = faultyDisk()
    const dir = testFolder(t)
    const store = await openStore(t, dir, { io: disk.io })
    await store.commit(decide('one'))
    disk.around = broken
    await t.rejects(store.commit(decide('two')), { ...unavailable, message: /may be there/ })
    t.equal(logLines(dir).length, 2, 'it is in the file')
    const cut = Promise.withResolvers<void>()
    disk.around = async (call, go) => {
      const result = await go()
      if (call.op === 'sync' && call.name === LOG) cut.resolve()
      return result
    }
    if (how === 'at the end') await store.close()
    await cut.promise
    t.equal(logLines(dir).length, 1, how)
    await store.close()
    t.strictSame((await (await openStore(t, dir)).list({})).map(({ id }) => id), ['one'])
  }

  const disk = faultyDisk()
  const store = await openStore(t, testFolder(t), { io: disk.io })
  disk.around = broken
  await t.rejects(store.commit(decide('one')), unavailable)
  await store.close()
  t.pass('a disk that stays broken holds nobody up at the end')
})

t.test('a kill before the cut leaves a torn tail that the next start sets aside', async t => {
  const disk = faultyDisk()
  const dir = testFolder(t, { first: {}, second: {} })
  const first = await openStore(t, join(dir, 'first'), { io: disk.io })
  await first.commit(decide('one'))
  disk.around = async (call, go) => {
    if (call.name !== LOG) return await go()
    if (call.op === 'write') return await fullInTheMiddle(call, go)
    if (call.op === 'truncate') throw systemError('EIO')
    return await go()
  }
  await t.rejects(first.commit(decide('two')), unavailable)
  copyFileSync(join(dir, 'first', LOG), join(dir, 'second', LOG))
  const second = await openStore(t, join(dir, 'second'))
  t.strictSame((await second.list({})).map(({ id }) => id), ['one'])
  t.equal(filesLike(join(dir, 'second'), 'torn').length, 1)
})

t.test('a log that was moved away or cut under a running store is never written over', async t => {
  const disk = faultyDisk()
  const dir = testFolder(t)
  const path = join(dir, LOG)
  const store = await openStore(t, dir, { io: disk.io })
  await store.commit(decide('one'))
  await store.commit(decide('two'))
  let faults = 1
  disk.around = async (call, go) => {
    if (call.op === 'sync' && faults-- > 0) {
      renameSync(path, `${path}.moved`)
      throw systemError('EIO')
    }
    return await go()
  }
  await t.rejects(store.commit(decide('three')), unavailable)
  await t.rejects(store.commit(decide('three')), { ...unavailable, message: /ENOENT/ })
  renameSync(`${path}.moved`, path)
  const whole = logLines(dir)
  truncateSync(path, 100)
  await t.rejects(store.commit(decide('three')), { ...unavailable, message: /no longer holds what was saved/ })
  t.equal(statSync(path).size, 100)
  writeFileSync(path, whole.slice(0, 2).map(line => `${line}\n`).join(''))
  t.match(await store.commit(decide('three')), { seq: 3 })
})

t.test('a snapshot that cannot be written is a warning, and the next start reads the log', async t => {
  const disk = faultyDisk(async (call, go) => {
    if (call.op === 'rename') throw systemError('ENOSPC')
    return await go()
  })
  const log = memoryLog()
  const dir = testFolder(t)
  const store = await openStore(t, dir, { io: disk.io, log })
  await store.commit(decide('one'))
  await store.close()
  t.match(log.lines, [/^warn The snapshot tickets.json could not be written/])
  t.strictSame(filesLike(dir, 'tickets.json'), ['tickets.json.tmp'])
  const again = await openStore(t, dir)
  t.strictSame((await again.list({})).map(({ id }) => id), ['one'])
  t.strictSame(filesLike(dir, 'tickets.json'), [])
})

t.test('a log that is deleted under a running store is noticed, and nothing more is acknowledged until it is back', async t => {
  const dir = testFolder(t)
  const path = join(dir, LOG)
  const log = memoryLog()
  const warned = Promise.withResolvers<void>()
  const warn = log.warn
  log.warn = (fields, message) => {
    warn(fields, message)
    warned.resolve()
  }
  const first = await openStore(t, dir)
  await first.commit(decide('one'))
  await first.close()
  const store = await openStore(t, dir, { log, snapshotMs: 1 })
  renameSync(path, `${path}.moved`)
  await store.commit(decide('two'))
  await warned.promise
  t.match(log.lines.at(-1), /audit\.jsonl was moved, deleted or replaced/)
  await t.rejects(store.commit(decide('three')), { ...unavailable, message: /ENOENT/ })
  renameSync(`${path}.moved`, path)
  t.match(await store.commit(decide('three')), { seq: 3 })
  t.match(await verifyAudit(dir), { ok: true, entries: 3 })
})

t.test('what is written into a log that was deleted is never acknowledged', async t => {
  const dir = testFolder(t)
  const log = memoryLog()
  const store = await openStore(t, dir, { log })
  await store.commit(decide('one'))
  const kept = readFileSync(join(dir, LOG))
  rmSync(dir, { recursive: true })
  await t.rejects(store.commit(decide('two')), { ...unavailable, message: /a file or folder is missing \(ENOENT\)/ })
  await t.rejects(store.commit(decide('two')), unavailable)
  t.strictSame((await store.list({})).map(({ id }) => id), ['one'])
  t.match(log.lines, [/^error A write to the audit log failed/, /^error/])

  mkdirSync(dir)
  writeFileSync(join(dir, LOG), kept)
  t.match(await store.commit(decide('two')), { seq: 2 }, 'a copy of it will do')
  t.match(await verifyAudit(dir), { ok: true, entries: 2 })
})

t.test('a snapshot is written some time after a change, without holding up the commits that go on', async t => {
  const disk = faultyDisk()
  const [renaming, release, renamed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const dir = testFolder(t)
  const store = await openStore(t, dir, { io: disk.io, snapshotMs: 1 })
  const copy = join(dir, 'copy')
  mkdirSync(copy)
  disk.around = async (call, go) => {
    if (call.op !== 'rename' || filesLike(copy, LOG).length > 0) return await go()
    renaming.resolve()
    await release.promise
    await go()
    // As a kill right after it would leave the folder.
    for (const name of [LOG, 'tickets.json']) copyFileSync(join(dir, name), join(copy, name))
    renamed.resolve()
  }
  const one = decide('one')
  await store.commit(one)
  await renaming.promise
  await store.commit(answered(one))
  await store.commit(decide('two'))
  release.resolve()
  await renamed.promise
  const { seq, tickets } = JSON.parse(readFileSync(join(copy, 'tickets.json'), 'utf8'))
  t.strictSame([seq, tickets.map(({ ticket }: { ticket: { id: string, status: string } }) => [ticket.id, ticket.status])], [1, [['one', 'pending']]],
    'it is of one moment, whatever came while it was written')
  const again = await openStore(t, copy)
  t.strictSame((await again.list({})).map(({ id, status }) => [id, status]), [['one', 'answered'], ['two', 'pending']])
})

t.test('files are for their owner alone, and the folder has one owner at a time until close has ended', async t => {
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  const dir = join(testFolder(t), 'state')
  const store = await openStore(t, dir)
  await store.commit(decide('one'))
  await t.rejects(openStore(t, dir), FolderHeldError)
  const closing = store.close()
  t.throws(() => acquireFolder(dir), FolderHeldError)
  await closing
  const modes = filesLike(dir, '').map(name => [name, statSync(join(dir, name)).mode & 0o777])
  t.strictSame(modes, ['audit.jsonl', 'daemon.lock', 'index.db', 'tickets.json'].map(name => [name, 0o600]))
  t.equal(statSync(dir).mode & 0o777, 0o700)

  const lock = acquireFolder(dir)
  const second = await openStore(t, dir, { lock })
  t.strictSame(second.head().at, at(0))
  await second.close()
  acquireFolder(dir).release()
})
