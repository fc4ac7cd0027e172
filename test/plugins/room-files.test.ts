import t, { type Test } from 'tap'
import { callerOf } from '../contract/v1'
import { refused } from '../contract/http-target'
import { Clock } from '../helpers/build'
import { ask } from '../helpers/http'
import { connectHttp } from '../helpers/mcp-clients'
import { listenWithRooms } from '../helpers/rooms'

const MOST = 1_024 * 1_024
const HOUR = 3_600_000

/** An agent by both doors: its tools over MCP, and `/v1`. */
async function open (t: Test, clock = new Clock()) {
  const room = await listenWithRooms(t, { originPolicy: 'spec', clock })
  const token = await room.mint('ann')
  const client = await connectHttp(t, 'modern', `${room.origin}/mcp`, { authorization: `Bearer ${token}` })
  return {
    ...room,
    v1: callerOf({ origin: room.origin, request: (path, init) => ask(room.origin, path, init) }, token),
    /** What a tool answers, or the sentence of its refusal. */
    async call (name: string, args: Record<string, unknown>): Promise<Record<string, unknown> | string> {
      const { structuredContent, isError, content } = await client.callTool({ name, arguments: args })
      return isError === true ? (content as Array<{ text: string }>)[0]!.text : structuredContent as Record<string, unknown>
    }
  }
}

const base64 = (size: number, fill = 7): string => Buffer.alloc(size, fill).toString('base64')

t.test('a file under and at its limit goes up by either door, and a byte more is told the limit by both', async t => {
  const { v1, call } = await open(t)
  for (const size of [0, 1, MOST - 1, MOST]) {
    t.match(await call('put_file', { name: `tool ${size}`, content_base64: base64(size) }), { size }, `${size} by the tool`)
    t.match(await v1.post('/v1/files', { name: `v1 ${size}`, content_base64: base64(size) }), { size }, `${size} over /v1`)
  }
  t.match(await call('put_file', { name: 'over', content_base64: base64(MOST + 1) }), /1,048,576 bytes; got 1,048,577/)
  await refused(t, v1.send('/v1/files', { name: 'over', content_base64: base64(MOST + 1) }), 400, 'BAD_REQUEST', /1,048,576 bytes; got 1,048,577/)
  const { files } = await v1.get<{ files: Array<{ name: string }> }>('/v1/files')
  t.equal(files.length, 8, 'and nothing of those is there')
})

t.test('a file that expires while it is read is not read to its end, by either door, and says why', async t => {
  const clock = new Clock()
  const { v1, call } = await open(t, clock)
  const { id } = await call('put_file', { name: 'short', content_base64: base64(100_000), expires_in_hours: 1 }) as { id: number }
  const page = await call('get_file', { file_id: id }) as { next: number }
  t.ok(page.next > 0)
  t.equal((await (await v1.ask(`/v1/files/${id}`)).arrayBuffer()).byteLength, 100_000)
  clock.by(HOUR - 1)
  t.match(await call('get_file', { file_id: id, offset: page.next }), { offset: page.next })
  clock.by(1)
  t.match(await call('get_file', { file_id: id, offset: page.next }), /any more: it has expired/)
  await refused(t, v1.ask(`/v1/files/${id}`), 404, 'FILE_NOT_FOUND', /it has expired/)
  await refused(t, v1.ask(`/v1/file?file_id=${id}&offset=${page.next}`), 404, 'FILE_NOT_FOUND', /it has expired/)
  await refused(t, v1.send('/v1/files/delete', { file_id: id }), 404, 'FILE_NOT_FOUND', /it has expired/)
})

t.test('pages of a file go on where the last one ended, beyond its end there is nothing, and a page is never longer than a result', async t => {
  const { call } = await open(t)
  const bytes = Buffer.from(Array.from({ length: 100_001 }, (_, n) => (n * 31) % 251))
  const { id } = await call('put_file', { name: 'long', content_base64: bytes.toString('base64') }) as { id: number }
  const read: Buffer[] = []
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const page = await call('get_file', { file_id: id, offset, length: 40_000 }) as { content_base64: string, next?: number }
    t.ok(JSON.stringify(page).length <= 65_536)
    read.push(Buffer.from(page.content_base64, 'base64'))
    offset = page.next
  }
  t.ok(Buffer.concat(read).equals(bytes))
  t.match(await call('get_file', { file_id: id, offset: 100_001 }), { content_base64: '' })
  t.match(await call('get_file', { file_id: id, offset: 1_000_000 }), { content_base64: '' })
})
