import { chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DAEMON_FILE, PROTOCOL, readDaemonFile, removeDaemonFile, writeDaemonFile, type DaemonFile } from '../../../lib/node/daemon-file'
import { newSecret } from '../../../lib/node/proof'

const file: DaemonFile = { pid: 4711, port: 8971, started_at: '2026-03-01T12:00:00.000Z', instance: 'one', secret: newSecret(), protocol: PROTOCOL }

t.test('what is written is read again, by its owner alone', async t => {
  const dir = t.testdir()
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  writeDaemonFile(dir, file)
  t.same(readDaemonFile(dir), file)
  t.equal(statSync(join(dir, DAEMON_FILE)).mode & 0o777, 0o600)
  writeDaemonFile(dir, { ...file, instance: 'two' })
  t.equal(readDaemonFile(dir)?.instance, 'two')
  t.same(readdirSync(dir), [DAEMON_FILE], 'nothing is left beside it')
  removeDaemonFile(dir)
  removeDaemonFile(dir)
  t.equal(readDaemonFile(dir), undefined)
})

t.test('what an interrupted write left behind is in nobody\'s way, whatever its mode', async t => {
  const dir = t.testdir()
  writeFileSync(join(dir, `${DAEMON_FILE}.tmp`), '{"secret":"half', { mode: 0o666 })
  writeDaemonFile(dir, file)
  t.same(readDaemonFile(dir), file)
  t.equal(statSync(join(dir, DAEMON_FILE)).mode & 0o777, 0o600)
})

t.test('a file that says nothing counts as none', async t => {
  const { secret: _secret, ...open } = file
  const contents: Record<string, string> = {
    'of no bytes': '',
    'the word null': 'null',
    'half an object': JSON.stringify(file).slice(0, 40),
    'a pid that is text': JSON.stringify({ ...file, pid: '4711' }),
    'no secret': JSON.stringify(open),
    'a short secret': JSON.stringify({ ...file, secret: 'short' }),
    'a list': '[]',
    'a port beyond all': JSON.stringify({ ...file, port: 65_536 }),
    'port 0': JSON.stringify({ ...file, port: 0 }),
    'bytes that are no text': '\u0000\u0001\u0002'
  }
  for (const [name, content] of Object.entries(contents)) {
    const dir = t.testdir({ [DAEMON_FILE]: content })
    t.equal(readDaemonFile(dir), undefined, name)
    t.equal(readFileSync(join(dir, DAEMON_FILE), 'utf8'), content, `${name}: left as it is`)
  }
  t.equal(readDaemonFile(t.testdir({ [DAEMON_FILE]: {} })), undefined, 'a folder')
  t.equal(readDaemonFile(join(t.testdir(), 'missing')), undefined, 'no state folder')
})

t.test('fields that a newer version adds are no fault', async t => {
  const dir = t.testdir({ [DAEMON_FILE]: JSON.stringify({ ...file, more: true }) })
  t.equal(readDaemonFile(dir)?.instance, 'one')
})

// Only root can give a file away.
if (process.getuid?.() === 0) {
  t.test('another user\'s file could send us anywhere, and counts as none', async t => {
    const dir = t.testdir()
    writeDaemonFile(dir, file)
    chownSync(join(dir, DAEMON_FILE), 65_534, 65_534)
    t.equal(readDaemonFile(dir), undefined)
  })
}
