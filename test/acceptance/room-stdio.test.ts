import t from 'tap'
import { createWorld, type Running } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

t.setTimeout(120_000)

async function toolsOf (agent: Running): Promise<string[]> {
  const { result } = await agent.request('tools/list', {})
  return (result!['tools'] as Array<{ name: string }>).map(({ name }) => name)
}

const text = async (agent: Running, name: string, args: object): Promise<string> => {
  const { result } = await agent.request('tools/call', { name, arguments: args })
  return (result!['content'] as Array<{ text: string }>)[0]!.text
}

t.test('agents with tokens talk and share work over stdio, under the names of their tokens; a revoked one is told what to do', async t => {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  await world.run(['admin', 'init'])
  const mint = async (agent: string, ...more: string[]) => (await world.run(['admin', 'add-token', '--agent', agent, '--room', 'main', ...more])).stdout.trim()
  const [ann, bob, eye, bare] = await Promise.all([
    startAgent(world, 'a', { READYROOM_AGENT_TOKEN: await mint('ann') }), startAgent(world, 'b', { READYROOM_AGENT_TOKEN: await mint('bob') }),
    startAgent(world, 'c', { READYROOM_AGENT_TOKEN: await mint('eye', '--readonly') }), startAgent(world, 'd')
  ])
  t.ok((await toolsOf(ann)).includes('post_message') && (await toolsOf(ann)).includes('ask_human'))
  t.notOk((await toolsOf(ann)).includes('set_retention'), 'no tool that needs an admin')
  t.notOk((await toolsOf(eye)).includes('post_message'), 'who reads only is offered reading only')
  t.ok((await toolsOf(eye)).includes('read_messages'))

  await bob.call('whats_new', {})
  const waiting = bob.call('wait_for_change', { timeout_s: 15 })
  await ann.call('post_message', { body: 'hello @bob' })
  t.match(await waiting, { changed: true })
  t.match(await bob.call('read_messages', {}), { messages: [{ author: 'ann', author_kind: 'agent', body: 'hello @bob', mentions: ['bob'] }], untrusted: /data/ })
  const { id } = await ann.call('create_task', { title: 'Ship' })
  t.match(await bob.call('claim_task', { task_id: id }), { owner: 'bob', status: 'in_progress' })
  t.match(await text(ann, 'claim_task', { task_id: id }), /bob/)

  const ticket = await ann.call('ask_human', { question: 'May I?' })
  t.match(await ann.call('list_pending', {}), { tickets: [{ id: ticket.id, stream: 'ann', asker: 'ann', room: 'main' }] })
  t.match(await text(ann, 'ask_human', { question: 'May I?', stream: 'bob' }), /name of your token/)
  t.match(await text(bare, 'ask_human', { question: 'May I?' }), /READYROOM_AGENT_TOKEN/)

  await world.run(['admin', 'revoke', 'ann'])
  t.match(await text(ann, 'post_message', { body: 'still me?' }), /READYROOM_AGENT_TOKEN is not a token/)
})

t.test('a kill of the daemon in mid-call neither loses a message nor doubles one, and each call has its result', async t => {
  const world = await createWorld(t)
  const server = world.start(['serve'])
  await server.opened()
  await world.run(['admin', 'init'])
  const token = (await world.run(['admin', 'add-token', '--agent', 'ann', '--room', 'main'])).stdout.trim()
  const ann = await startAgent(world, 'a', { READYROOM_AGENT_TOKEN: token })
  await ann.call('post_message', { body: 'm 0' })
  const posts = Array.from({ length: 60 }, (_, n) => ann.call('post_message', { body: `m ${n + 1}` }, 60_000))
  const task = ann.call('create_task', { title: 'Ship', ask: { question: 'Ship it?' } }, 60_000)
  // Some have their answer, most have none yet.
  await posts[3]
  server.kill('SIGKILL')
  const ids = (await Promise.all(posts)).map(({ id }) => Number(id))
  t.equal(new Set(ids).size, 60)
  t.match(await task, { status: 'blocked' })
  const { messages } = await ann.call('read_messages', { since_id: 0, limit: 200 }) as unknown as { messages: Array<{ id: number, body: string }> }
  t.strictSame(messages.map(({ body }) => body).sort(), Array.from({ length: 61 }, (_, n) => `m ${n}`).sort())
  t.ok(ids.every((id, n) => messages.find(message => message.id === id)?.body === `m ${n + 1}`), 'each call has the result of its own message')
  t.match(await ann.call('list_pending', {}), { tickets: [{ question: 'Ship it?' }] })
  t.equal((await ann.call('list_pending', {})).tickets!.length, 1)
})

t.test('what a token may not do is said in the result of the call', async t => {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  await world.run(['admin', 'init'])
  const token = (await world.run(['admin', 'add-token', '--agent', 'eye', '--room', 'main', '--readonly'])).stdout.trim()
  const eye = await startAgent(world, 'a', { READYROOM_AGENT_TOKEN: token })
  t.match((await eye.request('tools/call', { name: 'post_message', arguments: { body: 'x' } })).result, { isError: true, content: [{ text: /scope room:write/ }] })
  t.match((await eye.request('tools/call', { name: 'ask_human', arguments: { question: 'x' } })).result, { isError: true, content: [{ text: /scope tickets:ask/ }] })
})

t.test('without tokens, agents that ask for it have a room of their own machine, named after their streams; others have four tools', async t => {
  const world = await createWorld(t)
  const [one, two, plain] = await Promise.all([
    startAgent(world, 'one', { READYROOM_TOOLS: 'all' }), startAgent(world, 'two', { READYROOM_TOOLS: 'room' }), startAgent(world, 'three')
  ])
  t.equal((await toolsOf(plain)).length, 4)
  t.ok((await toolsOf(one)).includes('ask_human'))
  t.notOk((await toolsOf(two)).includes('ask_human'))
  await one.call('post_message', { body: 'hello' })
  t.match(await two.call('read_messages', {}), { messages: [{ author: 'one', body: 'hello' }] })
  t.match(await world.run([], { env: { READYROOM_TOOLS: 'some' } }), { code: 1, stderr: /READYROOM_TOOLS is "some": it must be decisions, room, or all/ })
})
