import type { Test } from 'tap'
import type { Delivery, TicketInRoom } from '../../schemas/api'
import type { Ticket } from '../../schemas/ticket'
import { connectHttp } from '../helpers/mcp-clients'
import { eventually } from '../helpers/process'
import { callerOf, type V1OpenTarget } from './v1'

export interface DeliveryTarget {
  name: string
  open (t: Test): Promise<Omit<V1OpenTarget, 'revoke'>>
}

type Seen = Ticket & TicketInRoom

/** Agents over MCP and one approver over HTTP, in the same room. */
async function setScene (t: Test, target: Omit<V1OpenTarget, 'revoke'>) {
  const agent = async (name: string) => {
    const token = await target.mint(name)
    const client = await connectHttp(t, 'modern', `${target.origin}/mcp`, { authorization: `Bearer ${token}`, origin: target.origin })
    return {
      v1: callerOf(target, token),
      async call (tool: string, args: Record<string, unknown> = {}) {
        return (await client.callTool({ name: tool, arguments: args })).structuredContent as Record<string, unknown>
      }
    }
  }
  const lea = callerOf(target, await target.mint('lea', { role: 'approver' }))

  /** As the list shows it and as it is by itself, at one moment. */
  async function seen (id: string): Promise<Seen> {
    const { tickets } = await lea.get<{ tickets: Seen[] }>('/api/tickets')
    const one = await lea.get<Seen>(`/api/tickets/${id}`)
    const listed = tickets.find(ticket => ticket.id === id)
    return JSON.stringify(listed?.delivery) === JSON.stringify(one.delivery) ? one : seen(id)
  }
  /** The mark of a revision, once it says this. */
  const until = (id: string, what: keyof Delivery, rev = 2): Promise<Delivery> => eventually(async () => {
    const { delivery } = await seen(id)
    return delivery?.rev === rev && delivery[what] !== undefined ? delivery : undefined
  }, `${what} of ${rev}`)
  return { agent, lea, seen, until, ann: await agent('ann') }
}

type Scene = Awaited<ReturnType<typeof setScene>>

/** What is known of an answer on its way to the agent that asked, on every target. */
export function deliveryContract (t: Test, { name, open }: DeliveryTarget): void {
  const test = (what: string, run: (t: Test, scene: Scene) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async t => run(t, await setScene(t, await open(t))))
  }

  test('an answer is saved, then delivered with the wait that carried it, and read once the agent calls again', async (t, { ann, lea, seen, until }) => {
    const { id } = await ann.call('ask_human', { question: 'Ship it?' }) as { id: string }
    await lea.post('/api/answer', { id, answer: 'yes' })
    t.notOk((await until(id, 'saved_at')).delivered_at, 'nobody was told yet')
    t.match(await ann.call('wait_for_answer', { id }), { answer: 'HUMAN ANSWER: yes' })
    t.notOk((await until(id, 'delivered_at')).read_at, 'a page that looks is not the agent')
    await ann.call('list_agents')
    const { saved_at: saved, delivered_at: delivered, read_at: read } = await until(id, 'read_at')
    t.ok(saved <= delivered! && delivered! <= read!)
    t.match(await seen(id), { status: 'answered', answer: 'yes' })
  })

  test('whats_new delivers too; unread counts do not, and another agent of the room neither', async (t, { agent, ann, lea, seen, until }) => {
    await ann.call('whats_new')
    const { id } = await ann.call('ask_human', { question: 'Ship it?' }) as { id: string }
    await lea.post('/api/answer', { id, answer: 'yes' })
    await until(id, 'saved_at')
    const bob = await agent('bob')
    for (const tool of ['read_events', 'whats_new']) await bob.call(tool)
    await ann.v1.get('/v1/unread')
    t.notOk((await seen(id)).delivery?.delivered_at)
    t.match(await ann.call('whats_new'), { events: [{ kind: 'ticket_answered', ticket_id: id }] })
    await until(id, 'delivered_at')
  })

  test('an undo after the delivery says so, until the agent has been told of the undo as well', async (t, { ann, lea, seen, until }) => {
    const { id } = await ann.call('ask_human', { question: 'Ship it?' }) as { id: string }
    await lea.post('/api/answer', { id, answer: 'yes' })
    await ann.call('wait_for_answer', { id })
    await until(id, 'delivered_at')
    await lea.post('/api/undo', { id })
    t.notOk((await until(id, 'saved_at', 3)).delivered_at)
    t.match((await seen(id)).delivery_before, { rev: 2, delivered_at: String })
    t.match(await ann.call('wait_for_answer', { id, timeout_seconds: 0 }), { status: 'pending' })
    await until(id, 'delivered_at', 3)
  })

  test('a ticket shows the task that waits for it, as long as it does', async (t, { ann, lea, seen }) => {
    const { id: task, ticket_id: id } = await ann.call('create_task', { title: 'Ship', ask: { question: 'Ship it?' } }) as { id: number, ticket_id: string }
    t.match((await seen(id)).waiting_task, { room: 'main', id: task, title: 'Ship' })
    await lea.post('/api/answer', { id, answer: 'yes' })
    await eventually(async () => (await seen(id)).waiting_task === undefined || undefined, 'the task to be freed')
  })
}
