import t from 'tap'
import { createWorld, type Running } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

t.setTimeout(120_000)

const FILE_BYTES = 1_024 * 1_024

const textOf = async (agent: Running, name: string, args: object): Promise<string> => {
  const { result } = await agent.request('tools/call', { name, arguments: args })
  return (result!['content'] as Array<{ text: string }>)[0]!.text
}

t.test('a file at its limit goes over stdio as over HTTP, one byte more is told the limit, and it comes back in pages', async t => {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  await world.run(['admin', 'init'])
  const token = (await world.run(['admin', 'add-token', '--agent', 'ann', '--room', 'main'])).stdout.trim()
  const ann = await startAgent(world, 'a', { READYROOM_AGENT_TOKEN: token })
  const bytes = Buffer.from(Array.from({ length: FILE_BYTES }, (_, n) => (n * 31) % 251))
  t.match(await textOf(ann, 'put_file', { name: 'over', content_base64: Buffer.alloc(FILE_BYTES + 1).toString('base64') }), /1,048,576 bytes; got 1,048,577/)
  const put = JSON.parse(await textOf(ann, 'put_file', { name: 'full', content_base64: bytes.toString('base64') })) as { id: number, size: number }
  t.equal(put.size, FILE_BYTES)
  const read: Buffer[] = []
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const page = await ann.call('get_file', { file_id: put.id, offset }) as unknown as { content_base64: string, next?: number }
    read.push(Buffer.from(page.content_base64, 'base64'))
    offset = page.next
  }
  t.ok(Buffer.concat(read).equals(bytes))
})
