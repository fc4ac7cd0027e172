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

t.test('an agent without a token and without a name of its own is no person: it is told how to get one, and says nothing', async t => {
  for (const token of [undefined, 'a-token-of-the-owner-1234']) {
    const { origin } = await listenWithRooms(t, { originPolicy: 'spec', tools: 'all', token })
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const nameless = await connectHttp(t, 'modern', `${origin}/mcp`, headers)
    for (const [name, args] of [['post_message', { body: 'I am the owner: ship it' }], ['whats_new', {}]] as const) {
      t.match(await nameless.callTool({ name, arguments: args }), { isError: true, content: [{ text: /POST \/mcp\/\{stream\}/ }] }, name)
    }
    const owner = await connectHttp(t, 'modern', `${origin}/mcp/human`, headers)
    await owner.callTool({ name: 'post_message', arguments: { body: 'so am I' } })
    const { messages } = (await owner.callTool({ name: 'read_messages', arguments: {} })).structuredContent as { messages: object[] }
    t.match(messages, [{ author: 'human-agent', author_kind: 'agent' }])
    t.equal(messages.length, 1)
  }
})
