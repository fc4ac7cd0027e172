import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Ticket } from '../../../schemas/ticket'
import type { TicketInRoom } from '../../../schemas/api'
import type { RoomEvent } from '../../../schemas/room'
import { callerOf } from '../../contract/v1'
import { ask } from '../../helpers/http'
import { toolCall } from '../../helpers/mcp-pipes'
import { post } from '../../contract/http-target'
import { startWorker, TOKEN } from '../../helpers/worker'
import { mint } from '../../helpers/worker-rooms'
import type { ToolAnswer } from '../../helpers/worker-client'

// Point-in-time recovery takes one object back to an earlier day, and leaves the others where they are. Here its files are.

type What = 'QueueObject' | 'RoomObject' | 'RegistryObject'

interface Task { id: number, status: string, ticket_id?: string, notes: Array<{ body: string }> }

/** A Worker whose objects can be taken back: each one to what it was when they were kept. */
async function open (t: Test) {
  const folder = t.testdir()
  const [persist, folders] = [join(folder, 'state'), join(folder, 'kept')]
  let worker = await startWorker(t, { persist })
  const tokens = new Map<string, string>()
  const as = (name: string) => callerOf({ origin: worker.origin, request: (path, init) => ask(worker.origin, path, init) }, tokens.get(name) ?? TOKEN)

  async function again (between: () => Promise<void>): Promise<void> {
    await worker.close()
    await between()
    worker = await startWorker(t, { persist })
  }
  async function folderOf (what: What, root: string): Promise<string> {
    const found = (await readdir(root, { recursive: true })).find(name => name.endsWith(`readyroom-${what}`))
    if (found === undefined) throw new Error(`No ${what} in ${root}`)
    return found
  }
  return {
    as,
    async join (name: string): Promise<void> { tokens.set(name, await mint(worker, name)) },
    /** Keeps every object as it is. */
    keep: () => again(async () => { await cp(persist, folders, { recursive: true }) }),
    /** Takes one kind of object back, to where it was kept. */
    back: (what: What) => again(async () => {
      const folder = await folderOf(what, folders)
      await rm(join(persist, folder), { recursive: true })
      await cp(join(folders, folder), join(persist, folder), { recursive: true })
    }),
    async asks (name: string, question: string): Promise<string> {
      const headers = { ...as(name).headers, origin: worker.origin, accept: 'application/json' }
      const response = await ask(worker.origin, '/mcp', post(toolCall(1, 'ask_human', { question }), headers))
      return (await response.json() as { result: ToolAnswer }).result.structuredContent.id
    },
    seen: (id: string) => as('human').get<Ticket & TicketInRoom>(`/api/tickets/${id}`),
    /** What the room has been told of tickets, from the beginning. */
    async told (): Promise<string[]> {
      const { events } = await as('ann').get<{ events: RoomEvent[] }>('/v1/events?limit=500')
      return events.filter(({ kind }) => kind.startsWith('ticket_')).map(({ kind, ticket_id: id }) => `${kind} ${id}`)
    },
    task: (id: number) => as('ann').get<Task>(`/v1/task?task_id=${id}`)
  }
}

t.test('a queue that was taken back tells rooms that are ahead of it what comes since, and frees tasks that wait for what is no more', async t => {
  const { as, join, keep, back, asks, seen, told, task } = await open(t)
  await join('ann')
  await as('ann').post('/v1/whats-new')
  const before = await asks('ann', 'Asked before?')
  const answered = await asks('ann', 'Answered before?')
  await as('human').post('/api/answer', { id: answered, answer: 'yes' })
  await as('ann').post('/v1/tasks', { title: 'waits for what stays' })
  await told()
  await keep()

  const lost = await as('ann').post<Task & { ticket_id: string }>('/v1/tasks', { title: 'waits for what is lost', ask: { question: 'Lost?' } })
  await as('human').post('/api/answer', { id: before, answer: 'an answer that is lost' })
  await as('human').post('/api/undo', { id: answered })
  await as('ann').post('/v1/tasks/claim', { task_id: 1 })
  await as('ann').post('/v1/tasks/update', { task_id: 1, status: 'blocked', ticket_id: answered })
  t.match(await seen(before), { status: 'answered', delivery: { rev: 2 } })
  const ahead = await told()
  await back('QueueObject')

  t.match(await seen(before), { status: 'pending' })
  const since = await asks('ann', 'Asked since?')
  t.strictSame(await told(), [...ahead, `ticket_enqueued ${since}`])
  t.match((await seen(before)).delivery, { rev: 1 }, 'nothing is said of an answer that is lost')
  t.match(await task(lost.id), { status: 'pending', notes: [{ body: /never enqueued/ }] })
  t.match(await task(1), { status: 'in_progress', notes: [{ body: /"yes"/ }] }, 'what it waits for was never taken back')
  await as('human').post('/api/answer', { id: before, answer: 'another answer' })
  t.strictSame((await told()).slice(ahead.length), [`ticket_enqueued ${since}`, `ticket_answered ${before}`])
  t.match(await seen(before), { delivery: { rev: 2 } })
})

t.test('a room that was taken back is told again what became of tickets since, and of nothing twice', async t => {
  const { as, join, keep, back, asks, told, task } = await open(t)
  await join('ann')
  await as('ann').post('/v1/whats-new')
  const first = await asks('ann', 'First?')
  await as('ann').post('/v1/tasks', { title: 'ship', claim: true })
  await as('ann').post('/v1/tasks/update', { task_id: 1, status: 'blocked', ticket_id: first })
  await told()
  await keep()

  await as('human').post('/api/answer', { id: first, answer: 'yes' })
  await join('bob')
  const second = await asks('ann', 'Second?')
  const all = await told()
  await back('RoomObject')

  t.strictSame(await told(), [`ticket_enqueued ${first}`])
  const third = await asks('ann', 'Third?')
  t.strictSame(await told(), [...all, `ticket_enqueued ${third}`])
  t.strictSame(all.slice(1), [`ticket_answered ${first}`, `ticket_enqueued ${second}`])
  t.match(await task(1), { status: 'in_progress', notes: [{ body: /"yes"/ }] })
  t.match((await as('ann').get<{ agents: object[] }>('/v1/agents')).agents, [{ name: 'ann' }, { name: 'bob' }], 'and it knows who holds a token')
})

t.test('a registry that was taken back is listened to again by rooms that are ahead of it', async t => {
  const { as, join, keep, back } = await open(t)
  await join('ann')
  await keep()
  await join('bob')
  await as('bob').post('/v1/messages', { body: 'here' })
  await back('RegistryObject')
  t.equal((await as('bob').ask('/v1/messages')).status, 401, 'its token is not known any more')
  await join('cid')
  t.match(await as('cid').post('/v1/messages', { body: 'here' }), { id: 2 })
  t.match((await as('ann').get<{ agents: object[] }>('/v1/agents')).agents.map(agent => (agent as { name: string }).name), ['ann', 'cid'], 'whoever has no token any more has left')
})
