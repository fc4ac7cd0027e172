import t, { type Test } from 'tap'
import { json } from '../contract/http-target'
import { ask } from '../helpers/http'
import { connectHttp } from '../helpers/mcp-clients'
import { eventually } from '../helpers/process'
import { listenWithRooms, type OpenRooms } from '../helpers/rooms'
import { openStream } from '../helpers/sse'

interface Seen {
  id: string
  rev: number
  delivery?: { rev: number, saved_at: string, delivered_at?: string, read_at?: string }
  delivery_before?: { rev: number, delivered_at?: string }
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
    agent,
    approver,
    async call (name: string, args: Record<string, unknown> = {}) {
      return (await client.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>
    },
    post: (path: string, body: object) => json(ask(open.origin, path, {
      method: 'POST', headers: { ...bearer(approver), 'content-type': 'application/json' }, body: JSON.stringify(body)
    })),
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

t.test('an answer is saved, then delivered with the wait that carried it, and read once the agent calls again', async t => {
  const { call, post, seen } = await scene(t)
  const { id } = await call('ask_human', { question: 'Ship it?' }) as { id: string }
  await post('/api/answer', { id, answer: 'yes' })
  const saved = await eventually(async () => (await seen(id)).delivery?.rev === 2 ? seen(id) : undefined, 'saved')
  t.notOk(saved.delivery?.delivered_at, 'nobody was told yet')
  t.match(await call('wait_for_answer', { id }), { answer: 'HUMAN ANSWER: yes' })
  const delivered = await eventually(async () => (await seen(id)).delivery?.delivered_at === undefined ? undefined : seen(id), 'delivered')
  t.notOk(delivered.delivery?.read_at, 'a page that looks is not the agent')
  await call('list_agents')
  const read = await eventually(async () => (await seen(id)).delivery?.read_at === undefined ? undefined : seen(id), 'read')
  t.ok(read.delivery!.saved_at <= read.delivery!.delivered_at! && read.delivery!.delivered_at! <= read.delivery!.read_at!)
})

t.test('whats_new delivers too; unread counts and the stream do not, and another agent of the room neither', async t => {
  const open = await scene(t)
  const { call, post, seen, origin, agent, mint } = open
  await call('whats_new')
  const { id } = await call('ask_human', { question: 'Ship it?' }) as { id: string }
  await post('/api/answer', { id, answer: 'yes' })
  await eventually(async () => (await seen(id)).delivery?.rev === 2 || undefined, 'saved')
  const other = await connectHttp(t, 'modern', `${origin}/mcp`, bearer(await mint('bob')))
  await other.callTool({ name: 'read_events', arguments: {} })
  await other.callTool({ name: 'whats_new', arguments: {} })
  await json(ask(origin, '/v1/unread', { headers: bearer(agent) }))
  await open.rooms.deliveries.settled()
  t.notOk((await seen(id)).delivery?.delivered_at)
  t.match(await call('whats_new'), { events: [{ kind: 'ticket_answered', ticket_id: id }] })
  await eventually(async () => (await seen(id)).delivery?.delivered_at, 'delivered')
})

t.test('an undo after the delivery says so, until the agent has been told of the undo as well', async t => {
  const { call, post, seen } = await scene(t)
  const { id } = await call('ask_human', { question: 'Ship it?' }) as { id: string }
  await post('/api/answer', { id, answer: 'yes' })
  await call('wait_for_answer', { id })
  await eventually(async () => (await seen(id)).delivery?.delivered_at, 'delivered')
  await post('/api/undo', { id })
  const undone = await eventually(async () => (await seen(id)).delivery?.rev === 3 ? seen(id) : undefined, 'undone')
  t.match(undone.delivery_before, { rev: 2, delivered_at: String })
  t.notOk(undone.delivery?.delivered_at)
  t.match(await call('wait_for_answer', { id, timeout_seconds: 0 }), { status: 'pending' })
  await eventually(async () => (await seen(id)).delivery?.delivered_at, 'the undo, delivered')
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
