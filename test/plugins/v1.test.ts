import t from 'tap'
import { v1Contract } from '../contract/v1'
import { json, post, refused } from '../contract/http-target'
import { ask } from '../helpers/http'
import { listenWithRooms } from '../helpers/rooms'

t.test('the room over HTTP, on Node', async t => {
  v1Contract(t, {
    name: 'node',
    async open (t) {
      const { origin, mint, admin } = await listenWithRooms(t)
      return {
        origin,
        mint,
        revoke: async agent => { await admin.run('revoke', { agent }) },
        request: (path, init) => ask(origin, path, init)
      }
    }
  })
})

t.test('without tokens the loopback is the access control: the owner is in the room local, which is made when it is entered', async t => {
  const { origin, rooms } = await listenWithRooms(t)
  t.notOk(rooms.isOpen)
  t.match(await json(ask(origin, '/v1/messages', post({ body: 'note to self' }))), { id: 1 })
  t.match(await json(ask(origin, '/v1/room')), { room: 'local' })
  t.match(await json(ask(origin, '/v1/rooms')), { name: 'human', kind: 'owner', home: 'local', rooms: [{ room: 'local' }] })
  await refused(t, ask(origin, '/v1/messages?room=elsewhere'), 404, 'ROOM_NOT_FOUND')
})
