import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { acquireFolder } from '../../lib/node/folder-lock'
import { SUCCESSOR_LOG } from '../../lib/node/successor'
import { createWorld, eventually, type World } from '../helpers/process'
import { startAgent, statusOf, untilStatus } from '../helpers/singleton'

/** The agent leaves: its end of the pipe closes. Resolves with how long the process took to end, in milliseconds. */
async function leaves (running: Awaited<ReturnType<typeof startAgent>>): Promise<number> {
  const start = performance.now()
  running.child.stdin!.end()
  const { code, signal } = await running.finished
  if (code !== 0) throw new Error(`It ended with ${code ?? signal}: ${running.stderr}`)
  return performance.now() - start
}

/** Under two seconds, with five times slack. */
const PROMPT_MS = 10_000

/** The successor, which may be a little late where the machine is busy. */
const untilSuccessor = (world: World) => untilStatus(world, ({ lingering }) => lingering === true, 'the successor')

/** Ends what is left on purpose. */
async function stop (world: World): Promise<void> {
  await world.run(['stop'])
  await eventually(() => world.alive().length === 0 || undefined, 'it to end')
}

const answer = async (world: World, id: string, text: string): Promise<number> => (await world.api('/api/answer', { id, answer: text })).status

t.test('an agent leaves a pending ticket: a detached successor keeps it answerable, and the next run finds the answer', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'project')
  const { id } = await first.call('ask_human', { question: 'May I?' })
  const took = await leaves(first)
  t.comment(`left in ${Math.round(took)} ms`)
  t.ok(took < PROMPT_MS)

  const status = await untilSuccessor(world)
  t.match(status, { running: true, lingering: true, pending: 1, port: world.port, clients: [] })
  t.not(status.pid, first.pid)
  t.same(world.alive(), [status.pid], 'one process, and no other')
  t.equal(statSync(join(world.stateDir, SUCCESSOR_LOG)).mode & 0o777, 0o600)
  t.equal(await answer(world, id, 'yes'), 200)

  // Within the five seconds that it stays for.
  const next = await startAgent(world, 'project')
  t.match(await next.call('wait_for_answer', { id, timeout_seconds: 0 }), { status: 'answered', answer: 'HUMAN ANSWER: yes' })
  next.kill('SIGTERM')
  t.equal((await next.finished).code, 0)
  await eventually(() => world.alive().length === 0 || undefined, 'the successor to end by itself')
  t.same(await statusOf(world), { running: false })

  const later = await startAgent(world, 'project')
  t.match(await later.call('wait_for_answer', { id, timeout_seconds: 0 }), { status: 'answered', answer: 'HUMAN ANSWER: yes' })
  await leaves(later)
  t.same(world.alive(), [], 'nothing was pending any more')
})

t.test('SIGTERM from the agent\'s host leaves a successor too, and the next daemon is it no more', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'project')
  await first.call('ask_human', { question: 'May I?' })
  const start = performance.now()
  first.kill('SIGTERM')
  t.equal((await first.finished).code, 0)
  t.ok(performance.now() - start < PROMPT_MS)
  const { pid, pending } = await untilSuccessor(world)
  t.equal(pending, 1)

  const second = await startAgent(world, 'project')
  t.equal((await second.call('list_pending', {})).tickets?.length, 1)
  t.match(await statusOf(world), { pid, clients: [{ pid: second.pid }] })
  const { stdout } = await world.run(['stop'])
  t.match(stdout, new RegExp(`pid ${pid}.*pid ${second.pid}`))
  t.match(await statusOf(world), { pid: second.pid, lingering: false, pending: 1 })
})

t.test('stop ends a lingering daemon, and the ticket comes back with the next start', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'project')
  await first.call('ask_human', { question: 'May I?' })
  await leaves(first)
  await untilSuccessor(world)
  const { stdout, code } = await world.run(['status'])
  t.equal(code, 0)
  t.match(stdout, /lingering/)
  await stop(world)
  const next = await startAgent(world, 'project')
  t.equal((await next.call('list_pending', {})).tickets?.length, 1)
  t.match(await statusOf(world), { pid: next.pid, lingering: false })
})

t.test('nobody is left behind where nothing is pending, MCP was not spoken, or it serves', async t => {
  const world = await createWorld(t)
  const idle = await startAgent(world, 'idle')
  await idle.call('list_pending', {})
  t.ok(await leaves(idle) < PROMPT_MS)
  t.same(world.alive(), [])

  const late = await startAgent(world, 'late')
  const { id } = await late.call('ask_human', { question: 'Still there?', timeout_seconds: 1 })
  t.match(await late.call('wait_for_answer', { id }), { status: 'expired' })
  t.match(await statusOf(world), { pending: 0 })
  await late.call('ask_human', { question: 'And now?', timeout_seconds: 1 })
  await new Promise(resolve => { setTimeout(resolve, 1_000) })
  t.ok(await leaves(late) < PROMPT_MS, 'a ticket that is due counts as settled, though nobody has looked at it')
  t.same(world.alive(), [])

  const asking = await startAgent(world, 'asking')
  await asking.call('ask_human', { question: 'May I?' })
  asking.kill('SIGKILL')
  await asking.finished
  t.same(world.alive(), [])

  const silent = world.start([], { cwd: 'silent' })
  await silent.opened()
  t.match(await statusOf(world), { pending: 1 }, 'a ticket is pending')
  t.ok(await leaves(silent) < PROMPT_MS)
  t.same(world.alive(), [], 'but its agent has never said a word')

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const serving = world.start(['serve'])
    await serving.opened()
    t.match(await statusOf(world), { pending: 1 })
    serving.kill(signal)
    t.equal((await serving.finished).code, 0, signal)
    t.same(world.alive(), [])
  }
  t.same(await statusOf(world), { running: false })
})

t.test('an agent leaves while others are attached: one of them takes over, and nobody is left behind', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'first')
  const { id } = await first.call('ask_human', { question: 'May I?' })
  const others = [await startAgent(world, 'second'), await startAgent(world, 'third')]
  for (const other of others) await other.call('list_pending', {})
  t.ok(await leaves(first) < PROMPT_MS)
  const status = await untilStatus(world, ({ clients }) => clients?.length === 1, 'one of the others to be the daemon')
  t.match(status, { lingering: false, pending: 1 })
  t.same(world.alive().toSorted(), others.map(({ pid }) => pid).toSorted())
  t.equal(await answer(world, id, 'yes'), 200)
})

t.test('ten agents leave at one instant with a ticket pending: one successor, and no other process', async t => {
  const world = await createWorld(t)
  const agents = await Promise.all(Array.from({ length: 10 }, (_, i) => startAgent(world, `project ${i}`)))
  const tickets = await Promise.all(agents.map(running => running.call('ask_human', { question: 'May I?' })))
  await Promise.all(agents.map(leaves))
  const status = await untilSuccessor(world)
  t.match(status, { lingering: true, pending: 10 })
  t.same(world.alive(), [status.pid])
  for (const { id } of tickets) t.equal(await answer(world, id, 'yes'), 200)
  await eventually(() => world.alive().length === 0 || undefined, 'it to end by itself')
})

t.test('an open page keeps a successor, which ends when the page has gone', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'project')
  await first.call('list_pending', {})
  const page = new AbortController()
  const events = await fetch(`${world.url}/api/events`, { signal: page.signal })
  t.equal(events.status, 200)
  await leaves(first)
  const status = await untilSuccessor(world)
  t.match(status, { lingering: true, pending: 0 })
  page.abort()
  await eventually(() => world.alive().length === 0 || undefined, 'it to end by itself')
})

t.test('a successor keeps the settings, and shows the token to nobody', async t => {
  const TOKEN = 'a-token-that-nobody-guesses'
  const world = await createWorld(t)
  const first = await startAgent(world, 'project', { READYROOM_TOKEN: TOKEN, READYROOM_ALLOWED_ORIGINS: 'https://desk.example', READYROOM_BIND: '127.0.0.1' })
  await first.call('ask_human', { question: 'May I?' })
  await leaves(first)
  const { pid } = await untilSuccessor(world)
  t.notMatch(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), TOKEN)
  t.notMatch(readFileSync(join(world.stateDir, SUCCESSOR_LOG), 'utf8'), TOKEN)
  const tickets = (headers: Record<string, string>) => fetch(`${world.url}/api/tickets`, { headers }).then(({ status }) => status)
  t.equal(await tickets({}), 401)
  t.equal(await tickets({ authorization: `Bearer ${TOKEN}`, origin: 'https://desk.example' }), 200)
  await stop(world)
})

t.test('where no successor can be started the process ends all the same, in time, and nothing is lost', async t => {
  const world = await createWorld(t)
  acquireFolder(world.stateDir).release()
  mkdirSync(join(world.stateDir, SUCCESSOR_LOG))
  const first = await startAgent(world, 'project')
  await first.call('ask_human', { question: 'May I?' })
  t.ok(await leaves(first) < PROMPT_MS)
  t.match(first.stderr, /No successor could be started; every ticket is safe/)
  t.same(world.alive(), [])
  const next = await startAgent(world, 'project')
  t.equal((await next.call('list_pending', {})).tickets?.length, 1)
  next.kill('SIGKILL')
})

t.test('a successor whose predecessor is killed in mid-hand-over takes over, or ends where somebody else has', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'project')
  await first.call('ask_human', { question: 'May I?' })
  first.child.stdin!.end()
  await eventually(() => world.alive().length === 2 || undefined, 'the successor to start')
  first.kill('SIGKILL')
  await first.finished
  const status = await untilSuccessor(world)
  t.match(status, { lingering: true, pending: 1 })
  t.same(world.alive(), [status.pid])
  const second = world.start(['serve', '--linger'])
  t.equal((await second.finished).code, 0, 'nothing waits for a second one')
  t.same(world.alive(), [status.pid])
  await stop(world)
})
