import { spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { VERSION } from '../../lib/node/version'
import { createWorld, eventually, Running, SCRIPT, type World } from '../helpers/process'
import { startAgent, statusOf, untilStatus } from '../helpers/singleton'

/** The built product as if it had been released under another version. */
function release (world: World, version: string): string {
  const folder = join(world.home, `release ${version}`)
  cpSync(dirname(SCRIPT[0]!), folder, { recursive: true })
  const bundle = join(folder, 'core.mjs')
  writeFileSync(bundle, readFileSync(bundle, 'utf8').replaceAll(JSON.stringify(VERSION), JSON.stringify(version)))
  return join(folder, 'readyroom.mjs')
}

/** Starts that release. The test ends it, since the world knows only its own. */
const startRelease = (world: World, version: string, args: string[] = []): Running =>
  new Running(spawn(process.execPath, [release(world, version), ...args], { cwd: world.home, env: world.env, stdio: ['pipe', 'pipe', 'pipe'] }))

// The sources have the one version that package.json says; only what is built can be released twice.
t.equal(SCRIPT.length, 1, 'the product is built: npm run build')

t.test('an upgrade: the newer takes over from a daemon with clients, and their waits go on', async t => {
  const world = await createWorld(t)
  const daemon = await startAgent(world, 'daemon')
  const { id } = await daemon.call('ask_human', { question: 'May I?' })
  const client = await startAgent(world, 'client')
  const waits = [daemon, client].map(running => running.call('wait_for_answer', { id, timeout_seconds: 60 }, 60_000))
  await untilStatus(world, ({ waiting }) => waiting === 2, 'two waits')

  const newer = startRelease(world, '99.0.0')
  await newer.initialize()
  t.equal((await newer.call('list_pending', {})).tickets?.length, 1)
  const status = await untilStatus(world, ({ waiting, clients }) => waiting === 2 && clients?.length === 2, 'both waits on the newer')
  t.match(status, { pid: newer.pid, version: '99.0.0', pending: 1 })
  t.notOk(daemon.over || client.over)
  t.equal((await world.api('/api/answer', { id, answer: 'yes' })).status, 200)
  for (const answer of await Promise.all(waits)) t.match(answer, { status: 'answered', answer: 'HUMAN ANSWER: yes' })

  const older = startRelease(world, '0.0.1')
  await older.initialize()
  t.equal((await older.call('ask_human', { question: 'May I, too?' })).status, 'pending')
  t.match(await statusOf(world), { pid: newer.pid, version: '99.0.0', pending: 1 })
  older.kill('SIGKILL')
  newer.kill('SIGKILL')
  await Promise.all([older.finished, newer.finished])
  await untilStatus(world, ({ pid, pending }) => pending === 1 && [daemon.pid, client.pid].includes(pid!), 'an older one to take over again')
})

t.test('an upgrade: a lingering daemon hands over and ends, one that serves stands by', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'project')
  await first.call('ask_human', { question: 'May I?' })
  first.child.stdin!.end()
  await first.finished
  const lingering = await untilStatus(world, status => status.lingering === true, 'the successor')
  const newer = startRelease(world, '99.0.0', ['serve'])
  await newer.opened()
  t.match(await statusOf(world), { pid: newer.pid, pending: 1, lingering: false })
  await eventually(() => !world.alive().includes(lingering.pid!) || undefined, 'the lingering one to end')

  const newest = startRelease(world, '99.0.1', ['serve'])
  await newest.opened()
  const status = await untilStatus(world, ({ clients }) => clients?.length === 1, 'the older to stand by')
  t.match(status, { pid: newest.pid, clients: [{ pid: newer.pid, version: '99.0.0' }] })
  newest.kill('SIGTERM')
  newer.kill('SIGTERM')
  t.equal((await newest.finished).code, 0)
  t.equal((await newer.finished).code, 0)
  t.same(world.alive(), [])
})
