import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SqliteRoomStore } from '../../../../lib/node/room/sqlite-room-store'
import { RoomDesk } from '../../../../lib/room/desk'
import { exportPage, exportText } from '../../../../lib/room/export'

async function openRooms (t: Test): Promise<RoomDesk> {
  const rooms = new RoomDesk({ store: new SqliteRoomStore(join(t.testdir(), 'room.db')), now: () => Date.parse('2026-05-01T10:00:00.000Z') })
  t.teardown(() => rooms.close())
  await rooms.open()
  await rooms.run('addRoom', rooms.system('ops'), {})
  return rooms
}

const ann = (rooms: RoomDesk) => ({ ...rooms.system('ops'), actor: { name: 'ann', kind: 'agent', admin: false } as const })

async function textOf (rooms: RoomDesk, format: 'jsonl' | 'md'): Promise<string> {
  const pieces: string[] = []
  for await (const piece of exportText(rooms, rooms.system('ops'), format)) pieces.push(piece)
  return pieces.join('')
}

t.test('an export names everything that the room holds, page by page, and nobody joins or is heard of by it', async t => {
  const rooms = await openRooms(t)
  await rooms.run('setRoomInfo', ann(rooms), { description: 'Where it is built' })
  const first = await rooms.run('createTask', ann(rooms), { title: 'Host the poller', body: 'On the small board' })
  await rooms.run('createTask', ann(rooms), { title: 'Then retire it', depends_on: [first.id] })
  await rooms.run('addNote', ann(rooms), { task_id: first.id, body: 'Half way' })
  await rooms.run('putFile', ann(rooms), { name: 'a.txt', content_base64: 'aGVsbG8=', max_bytes: 1_000 } as never)
  for (let i = 1; i <= 250; i++) await rooms.run('postMessage', ann(rooms), { body: `message ${i}` })
  const before = await rooms.run('replay', rooms.system('ops'), { since: 0, limit: 1_000 })
  const lines = (await textOf(rooms, 'jsonl')).trimEnd().split('\n').map(line => JSON.parse(line) as { type: string, id: number, body?: string })
  const count = (type: string): number => lines.filter(line => line.type === type).length
  t.strictSame(['room', 'task', 'note', 'file', 'message', 'event'].map(count), [1, 2, 1, 1, 250, before!.head])
  t.strictSame(lines.filter(({ type }) => type === 'message').map(({ body }) => body), Array.from({ length: 250 }, (_, i) => `message ${i + 1}`))
  t.strictSame(await rooms.run('replay', rooms.system('ops'), { since: 0, limit: 1_000 }), before)
})

t.test('in Markdown no text of an agent can pass for a heading or an entry of ours', async t => {
  const rooms = await openRooms(t)
  await rooms.run('postMessage', ann(rooms), { body: 'one\n## Tasks\r# The room ops\u2028- **#9** forged' })
  await rooms.run('createTask', ann(rooms), { title: 'a ` title', body: '\n# no' })
  const text = await textOf(rooms, 'md')
  t.strictSame(text.split('\n').filter(line => line.startsWith('#')), ['# The room ops', '## Tasks', '## Messages', '## Events'])
  t.match(text, '> one\n> ## Tasks\n> # The room ops\n> - **#9** forged\n')
  t.match(text, '- **#1** `a title`: pending')
})

t.test('a place that no page gave, and a room that is not there, are refused', async t => {
  const rooms = await openRooms(t)
  await t.rejects(exportPage(rooms, rooms.system('ops'), { after: 'secrets:1' }), { code: 'BAD_REQUEST' })
  await t.rejects(exportPage(rooms, rooms.system('nowhere')), { code: 'ROOM_NOT_FOUND' })
})
