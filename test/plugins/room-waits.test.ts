import t, { type Test } from 'tap'
import { callerOf } from '../contract/v1'
import { refused } from '../contract/http-target'
import { ask } from '../helpers/http'
import { connectHttp } from '../helpers/mcp-clients'
import { eventually } from '../helpers/process'
import { listenWithRooms } from '../helpers/rooms'

/** Waits last a minute by themselves: what ends within the patience of a test was ended. */
const LONG_S = 60

async function open (t: Test) {
  const room = await listenWithRooms(t, { originPolicy: 'spec' })
  /** An agent by both doors. */
  const agent = async (name: string, more: object = {}) => {
    const token = await room.mint(name, more)
    const client = await connectHttp(t, 'modern', `${room.origin}/mcp`, { authorization: `Bearer ${token}` })
    return {
      v1: callerOf({ origin: room.origin, request: (path, init) => ask(room.origin, path, init) }, token),
      call: (tool: string, args: Record<string, unknown> = {}) => client.callTool({ name: tool, arguments: args }),
      /** What became of a wait: its text, or the refusal of the whole request. */
      said: (tool: string, args: Record<string, unknown>) => client.callTool({ name: tool, arguments: args })
        .then(({ content }) => (content as Array<{ text: string }>)[0]!.text, err => String(err))
    }
  }
  return { ...room, agent, desk: room.app.readyroom.desk }
}

t.test('a token that is revoked ends its waits at once, by every door, and nobody else\'s', async t => {
  const { agent, admin, rooms, desk } = await open(t)
  const [ann, bob] = [await agent('ann'), await agent('bob')]
  for (const one of [ann, bob]) await one.call('whats_new')
  await ann.call('whats_new')
  const { id } = (await ann.call('ask_human', { question: 'May I?' })).structuredContent as { id: string }
  for (const one of [ann, bob]) await one.call('whats_new')
  const stays = bob.said('wait_for_change', { timeout_s: LONG_S })
  const change = ann.said('wait_for_change', { timeout_s: LONG_S })
  const v1 = ann.v1.ask(`/v1/wait?timeout_s=${LONG_S}`)
  const answer = ann.said('wait_for_answer', { id, timeout_seconds: LONG_S })
  await eventually(() => (rooms.feed.isWatched && desk.waiting === 1) || undefined, 'the waits to begin')
  await admin.run('revoke', { agent: 'ann' })
  await refused(t, v1, 401, 'UNAUTHORIZED', /revoked/)
  t.match(await change, /revoked|UNAUTHORIZED|token/i)
  t.match(await answer, /revoked|UNAUTHORIZED|token/i)
  t.equal(desk.waiting, 0)
  const { events } = await rooms.run('readEvents', rooms.system('main'), { limit: 100 })
  t.equal(events.findLast(({ actor, body }) => actor === 'ann' || body === 'ann')?.kind, 'agent_gone', 'a wait that ends does not bring it back')
  await rooms.run('postMessage', rooms.system('main'), { body: 'still here' })
  t.match(await stays, /"changed": ?true/)
})

t.test('a room that is deleted under those who wait in it ends their waits at once and says so; another room\'s goes on', async t => {
  const { agent, admin, rooms } = await open(t)
  const ann = await agent('ann', { also: ['lab'] })
  const bob = await agent('bob')
  for (const room of ['main', 'lab']) await ann.call('whats_new', { room })
  await bob.call('whats_new')
  await ann.call('whats_new')
  const lab = ann.said('wait_for_change', { timeout_s: LONG_S, room: 'lab' })
  const v1 = ann.v1.ask(`/v1/wait?timeout_s=${LONG_S}&room=lab`)
  const main = ann.said('wait_for_change', { timeout_s: LONG_S, room: 'main' })
  await eventually(() => rooms.feed.isWatched || undefined, 'the waits to begin')
  await admin.run('delete-room', { room: 'lab', confirm: 'lab' })
  t.match(await lab, /There is no room "lab"/)
  await refused(t, v1, 404, 'ROOM_NOT_FOUND', /lab/)
  await bob.call('post_message', { body: 'still here' })
  t.match(await main, /"changed": ?true/)
})

t.test('a question for a room that was deleted is refused with what to do, and leaves no ticket; one that is there again is asked in', async t => {
  const { agent, admin, rooms } = await open(t)
  const ann = await agent('ann', { room: 'lab' })
  t.match((await ann.call('ask_human', { question: 'May I?' })).structuredContent, { status: 'pending' })
  await admin.run('delete-room', { room: 'lab', confirm: 'lab' })
  const refused = await ann.call('ask_human', { question: 'And now?' })
  t.equal(refused.isError, true)
  t.match((refused.content as Array<{ text: string }>)[0]!.text, /There is no room "lab" any more.*token/)
  t.equal(((await ann.call('list_pending')).structuredContent as { tickets: unknown[] }).tickets.length, 1)
  await rooms.run('addRoom', rooms.system('lab'), {})
  t.match((await ann.call('ask_human', { question: 'Again?' })).structuredContent, { status: 'pending' })
})
