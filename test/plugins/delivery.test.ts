import t, { type Test } from 'tap'
import { deliveryContract } from '../contract/delivery'
import { json } from '../contract/http-target'
import { ask } from '../helpers/http'
import { connectHttp } from '../helpers/mcp-clients'
import { listenWithRooms, type OpenRooms } from '../helpers/rooms'
import { openStream } from '../helpers/sse'

interface Seen {
  id: string
  rev: number
  delivery?: { rev: number, saved_at: string, delivered_at?: string, read_at?: string }
  waiting_task?: { room: string, id: number, title: string }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** One agent over MCP and one approver over HTTP, in the same room. */
async function scene (t: Test) {
  const open = await listenWithRooms(t, { originPolicy: 'spec' })
  const [agent, approver] = [await open.mint('ann'), await open.mint('lea', { role: 'approver' })]
  const client = await connectHttp(t, 'modern', `${open.origin}/mcp`, bearer(agent))
  return {
    ...open,
    approver,
    async call (name: string, args: Record<string, unknown> = {}) {
      return (await client.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>
    },
    seen: (id: string) => look(open, approver, id)
  }
}

async function look ({ origin }: OpenRooms, token: string, id: string): Promise<Seen> {
  const { tickets } = await json(ask(origin, '/api/tickets', { headers: bearer(token) })) as { tickets: Seen[] }
  const one = await json(ask(origin, `/api/tickets/${id}`, { headers: bearer(token) })) as unknown as Seen
  const listed = tickets.find(ticket => ticket.id === id)!
  if (JSON.stringify(listed.delivery) !== JSON.stringify(one.delivery)) return look({ origin } as OpenRooms, token, id)
  return listed
}

deliveryContract(t, {
  name: 'Node',
  async open (t) {
    const { origin, mint } = await listenWithRooms(t, { originPolicy: 'spec' })
    return { origin, mint, request: (path, init) => ask(origin, path, init) }
  }
})

t.test('a ticket shows the task that waits for it, and the events say so to whoever may see the ticket', async t => {
  const { call, seen, origin, approver, mint } = await scene(t)
  const [stream, elsewhere] = [await openStream(t, origin, bearer(approver)), await openStream(t, origin, bearer(await mint('eve', { room: 'lab', role: 'approver' })))]
  const { id: task, ticket_id: id } = await call('create_task', { title: 'Ship', ask: { question: 'Ship it?' } }) as { id: number, ticket_id: string }
  t.match((await seen(id)).waiting_task, { room: 'main', id: task, title: 'Ship' })
  t.match(await stream.event(), { event: 'ticket' })
  const note = await stream.event()
  t.match(note, { event: 'delivery', id: undefined })
  t.match(JSON.parse(note.data!), { id, waiting_task: { id: task, title: 'Ship' } })
  const lab = await connectHttp(t, 'modern', `${origin}/mcp`, bearer(await mint('zoe', { room: 'lab' })))
  await lab.callTool({ name: 'ask_human', arguments: { question: 'Theirs?' } })
  t.match(JSON.parse((await elsewhere.event()).data!), { question: 'Theirs?' }, 'the first that the other room hears is its own')
})

t.test('what the owner asks is in no room: nothing is noted of it', async t => {
  const { origin } = await listenWithRooms(t, { originPolicy: 'spec' })
  const client = await connectHttp(t, 'modern', `${origin}/mcp/own`)
  await client.callTool({ name: 'ask_human', arguments: { question: 'Mine?' } })
  const { tickets } = await json(ask(origin, '/api/tickets')) as { tickets: Seen[] }
  t.equal(tickets.length, 1)
  t.notOk('delivery' in tickets[0]!)
})
