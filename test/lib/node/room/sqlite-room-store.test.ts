import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t from 'tap'
import { SqliteRoomStore } from '../../../../lib/node/room/sqlite-room-store'
import { roomStoreContract } from '../../../contract/room'

t.test('the store on SQLite, on a thread of its own', async t => {
  roomStoreContract(t, {
    async open (t) {
      const store = new SqliteRoomStore(join(t.testdir(), 'room.db'))
      await store.open()
      return store
    }
  })
})

const HEAD = { actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now: Date.parse('2026-05-01T10:00:00.000Z') } as const

t.test('what was acknowledged is there when the file is opened again, cursors included', async t => {
  const file = join(t.testdir(), 'room.db')
  const first = new SqliteRoomStore(file)
  await first.open()
  await first.run('addRoom', HEAD, {})
  await first.run('postMessage', HEAD, { body: 'one' })
  const { result: { through } } = await first.run('whatsNew', HEAD, {})
  await first.close()
  await t.rejects(first.run('postMessage', HEAD, { body: 'late' }), { code: 'STORE_UNAVAILABLE' })
  const second = new SqliteRoomStore(file)
  await second.open()
  t.teardown(() => second.close())
  t.match((await second.run('readMessages', HEAD, {})).result, { messages: [{ body: 'one' }] })
  t.equal((await second.run('peek', HEAD, {})).result.through, through)
})

t.test('a database of a newer version is refused by its path, and left as it is', async t => {
  const file = join(t.testdir(), 'room.db')
  const newer = new DatabaseSync(file)
  newer.exec('CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (99)')
  newer.close()
  const store = new SqliteRoomStore(file)
  await t.rejects(store.open(), { message: /room\.db.*version 99/ })
  await store.close()
  const again = new DatabaseSync(file)
  t.strictSame(again.prepare('SELECT version FROM schema_version').all().map(row => ({ ...row })), [{ version: 99 }])
  again.close()
})

t.test('a file that is no database is refused by its path', async t => {
  const dir = t.testdir({ 'room.db': 'this is not a database, and long enough to be looked at as one'.repeat(50) })
  const store = new SqliteRoomStore(join(dir, 'room.db'))
  await t.rejects(store.open(), { message: /room\.db/ })
})

t.test('a copy made while it is written to is whole', async t => {
  const dir = t.testdir()
  const store = new SqliteRoomStore(join(dir, 'room.db'))
  await store.open()
  t.teardown(() => store.close())
  await store.run('addRoom', HEAD, {})
  const posts = Array.from({ length: 50 }, (_, n) => store.run('postMessage', HEAD, { body: `m${n}` }))
  await Promise.all([...posts.slice(0, 25), store.backup(join(dir, 'copy.db')), ...posts.slice(25)])
  const copy = new SqliteRoomStore(join(dir, 'copy.db'))
  await copy.open()
  t.teardown(() => copy.close())
  const { messages } = (await copy.run('readMessages', HEAD, { since_id: 0, limit: 500 })).result
  t.strictSame(messages.map(({ id }) => id), messages.map((_, n) => n + 1))
  await t.rejects(store.backup(join(dir, 'copy.db')), /is there already/)
})
