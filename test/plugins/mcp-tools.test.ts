import t from 'tap'
import { connectHttp } from '../helpers/mcp-clients'
import { listenWithRooms } from '../helpers/rooms'

t.test('over HTTP the owner is offered the tickets, and the rooms where that was set; a token gets what it may use', async t => {
  for (const [tools, expected] of [[undefined, false], ['decisions', false], ['all', true]] as const) {
    const { origin } = await listenWithRooms(t, { originPolicy: 'spec', tools })
    const client = await connectHttp(t, 'modern', `${origin}/mcp/agent`)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    t.equal(names.includes('post_message'), expected, String(tools))
    t.ok(names.includes('ask_human'))
    if (expected) t.match(await client.callTool({ name: 'post_message', arguments: { body: 'here' } }), { structuredContent: { id: 1 } })
  }
})
