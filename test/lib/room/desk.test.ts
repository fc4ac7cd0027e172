import { join } from 'node:path'
import t from 'tap'
import { SqliteRoomStore } from '../../../lib/node/room/sqlite-room-store'
import { RoomDesk } from '../../../lib/room/desk'
import { TryingRoomStore } from '../../helpers/trying-room-store'

t.test('rooms that could not be opened to the end are opened by the next call, and no thread is left of the first', async t => {
  const store = new TryingRoomStore(new SqliteRoomStore(join(t.testdir(), 'room.db')))
  const rooms = new RoomDesk({ store })
  t.teardown(() => rooms.close())
  const threads = (): number => process.getActiveResourcesInfo().filter(name => name === 'MessagePort' || name === 'Worker').length
  const before = threads()
  store.fail('loadTokens', 2)
  for (let n = 0; n < 2; n++) await t.rejects(rooms.run('addRoom', rooms.system('main'), {}), { code: 'STORE_UNAVAILABLE' })
  await rooms.open()
  await rooms.run('addRoom', rooms.system('main'), {})
  t.equal(store.opened, 1)
  await rooms.close()
  t.equal(threads(), before)
})

t.test('what has to be done before anybody gets in is done once, and again where it failed', async t => {
  const store = new TryingRoomStore(new SqliteRoomStore(join(t.testdir(), 'room.db')))
  const rooms = new RoomDesk({ store })
  t.teardown(() => rooms.close())
  let times = 0
  rooms.onOpen = async () => { if (++times === 1) throw new Error('not yet') }
  await t.rejects(rooms.open(), /not yet/)
  t.notOk(rooms.isOpen)
  await rooms.open()
  await rooms.open()
  t.equal(times, 2)
})
