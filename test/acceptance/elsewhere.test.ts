import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createWorld, eventually, type Running, type World } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

t.setTimeout(120_000)

async function toolsOf (agent: Running): Promise<string[]> {
  const { result } = await agent.request('tools/list', {})
  return (result!['tools'] as Array<{ name: string }>).map(({ name }) => name)
}

const refusal = async (agent: Running, name: string, args: object): Promise<string> => {
  const { result } = await agent.request('tools/call', { name, arguments: args }, 60_000)
  if (result?.isError !== true) throw new Error(`No refusal: ${JSON.stringify(result)}`)
  return (result['content'] as Array<{ text: string }>)[0]!.text
}

/** A machine with a server and tokens, and one that has nothing but the address. */
async function twoMachines (t: Test) {
  const [there, here] = await Promise.all([createWorld(t), createWorld(t)])
  const server = there.start(['serve'])
  await server.opened()
  await there.run(['admin', 'init'])
  const mint = async (agent: string, ...more: string[]) => (await there.run(['admin', 'add-token', '--agent', agent, '--room', 'main', ...more])).stdout.trim()
  const agent = (cwd: string, token: string, env: Record<string, string> = {}): Promise<Running> =>
    startAgent(here, cwd, { READYROOM_URL: there.url, READYROOM_AGENT_TOKEN: token, ...env })
  return { there, here, server, mint, agent }
}

async function answer (world: World, token: string, id: string, text: string): Promise<void> {
  const { status } = await fetch(`${world.url}/api/answer`, {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` }, body: JSON.stringify({ id, answer: text })
  })
  if (status !== 200) throw new Error(`The answer was refused: ${status}`)
}

t.test('an agent whose server is elsewhere has every tool of its token, and leaves no lock, no folder and no port on its own machine', async t => {
  const { there, here, mint, agent } = await twoMachines(t)
  const eve = await mint('eve', '--approver')
  const [ann, bob, eye] = await Promise.all([agent('a', await mint('ann')), agent('b', await mint('bob')), agent('c', await mint('eye', '--readonly'))])
  const offered = await toolsOf(ann)
  t.ok(['ask_human', 'wait_for_answer', 'list_pending', 'cancel_ticket', 'post_message', 'claim_task'].every(name => offered.includes(name)))
  t.notOk((await toolsOf(eye)).includes('post_message'), 'who reads only is offered reading only')

  const { id } = await ann.call('ask_human', { question: 'May I?' })
  t.match(await ann.call('list_pending', {}), { tickets: [{ id, stream: 'ann', asker: 'ann', room: 'main' }] })
  const waiting = ann.call('wait_for_answer', { id, timeout_seconds: 30 })
  await answer(there, eve, id, 'yes')
  t.match(await waiting, { id, status: 'answered', answer: 'HUMAN ANSWER: yes' })
  t.match(await refusal(ann, 'cancel_ticket', { id }), /answered/)
  t.match(await refusal(ann, 'wait_for_answer', { id, timeout_seconds: 'soon' }), /timeout_seconds/, 'what is wrong is said in the words of the server')

  await bob.call('whats_new', {})
  const change = bob.call('wait_for_change', { timeout_s: 30 })
  await ann.call('post_message', { body: 'hello @bob' })
  t.match(await change, { changed: true })
  t.match(await bob.call('read_messages', {}), { messages: [{ author: 'ann', body: 'hello @bob', mentions: ['bob'] }], untrusted: /data/ })
  const task = await ann.call('create_task', { title: 'Ship' })
  t.match(await bob.call('claim_task', { task_id: task.id }), { owner: 'bob', status: 'in_progress' })
  t.match(await refusal(ann, 'claim_task', { task_id: task.id }), /bob/)

  t.notOk(existsSync(here.stateDir))
  t.same(readdirSync(here.home).sort(), ['a', 'b', 'c'], 'nothing was made in the home folder')
  await t.rejects(fetch(`${here.url}/healthz`), 'nobody listens')
  t.notOk(existsSync(join(here.home, '.local')))

  ann.child.stdin!.end()
  t.match(await ann.finished, { code: 0 }, 'it ends with its agent')
})

t.test('a call goes on through the death of the server elsewhere and gets its answer from the next one', async t => {
  const { there, mint, agent, server } = await twoMachines(t)
  const eve = await mint('eve', '--approver')
  const ann = await agent('a', await mint('ann'))
  const { id } = await ann.call('ask_human', { question: 'May I?' })
  const waiting = ann.call('wait_for_answer', { id, timeout_seconds: 60 }, 60_000)
  await eventually(async () => (await there.run(['status', '--json'])).stdout.includes('"waiting":1') || undefined, 'the wait to begin')
  server.kill('SIGKILL')
  await server.finished
  const listing = ann.call('list_pending', {}, 60_000)
  await there.start(['serve']).opened()
  t.match(await listing, { tickets: [{ id }] })
  await answer(there, eve, id, 'go on')
  t.match(await waiting, { answer: 'HUMAN ANSWER: go on' })
})

t.test('what keeps an agent out elsewhere is said in a sentence that says what to do', async t => {
  const { there, here, mint, agent } = await twoMachines(t)
  const token = await mint('ann')
  const [wrong, bare, revoked] = await Promise.all([
    agent('a', 'rr_wrong'), startAgent(here, 'b', { READYROOM_URL: there.url, READYROOM_TOOLS: 'all' }), agent('c', token)
  ])
  t.ok((await toolsOf(wrong)).includes('ask_human'), 'it lists its tools all the same')
  t.match(await refusal(wrong, 'ask_human', { question: 'May I?' }), /does not accept this token \(401\): set READYROOM_AGENT_TOKEN/)
  t.match(await refusal(bare, 'post_message', { body: 'hello' }), /READYROOM_AGENT_TOKEN/)
  await revoked.call('post_message', { body: 'hello' })
  await there.run(['admin', 'revoke', 'ann'])
  t.match(await refusal(revoked, 'post_message', { body: 'still me?' }), /READYROOM_AGENT_TOKEN/)

  t.match(await here.run([], { input: '', env: { READYROOM_URL: 'desk.example' } }), { code: 1, stdout: '', stderr: /READYROOM_URL is "desk\.example": it must be an address such as https/ })
})

t.test('without tokens, an agent elsewhere is known by its stream', async t => {
  const [there, here] = await Promise.all([createWorld(t), createWorld(t)])
  await there.start(['serve']).opened()
  const agent = await startAgent(here, 'own folder', { READYROOM_URL: there.url })
  t.equal((await toolsOf(agent)).length, 4)
  await agent.call('ask_human', { question: 'May I?' })
  t.match(await there.api('/api/tickets'), { body: { tickets: [{ stream: 'own folder', question: 'May I?' }] } })
})
