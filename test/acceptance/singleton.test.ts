import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDaemonFile } from '../../lib/node/daemon-file'
import { acquireFolder } from '../../lib/node/folder-lock'
import { createWorld, eventually, messages } from '../helpers/process'
import { startAgent, statusOf, untilStatus } from '../helpers/singleton'

t.test('six agents at one instant from six folders: one listener, six tickets, and a warm round starts none', async t => {
  const world = await createWorld(t)
  const round = async (name: string) => Promise.all(Array.from({ length: 6 }, async (_, i) => {
    const running = world.start([], { cwd: `${name} ${i}` })
    await running.initialize()
    return { running, ticket: await running.call('ask_human', { question: `May I, ${name} ${i}?` }) }
  }))
  const first = await round('project')
  const { instance } = await statusOf(world)
  const second = await round('later')
  const status = await statusOf(world)
  t.equal(status.instance, instance)
  t.match(status, { running: true, port: world.port, pending: 12, clients: { length: 11 } })
  const { body } = await world.api<{ tickets: Array<{ id: string, stream: string }> }>('/api/tickets')
  t.same(body.tickets.map(({ stream }) => stream).toSorted(),
    [...Array.from({ length: 6 }, (_, i) => `later ${i}`), ...Array.from({ length: 6 }, (_, i) => `project ${i}`)])
  for (const { running, ticket } of [...first, ...second]) {
    t.notOk(running.over)
    t.ok(body.tickets.some(({ id }) => id === ticket.id))
    t.ok(messages(running.stdout).length >= 2, 'standard output holds messages only')
  }
})

t.test('twenty starts at one instant: one daemon, nineteen clients, and none fails', { timeout: 120_000 }, async t => {
  const world = await createWorld(t)
  const agents = Array.from({ length: 20 }, (_, i) => world.start([], { cwd: `project ${i}` }))
  await Promise.all(agents.map(async running => {
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    await running.request('initialize', hello, 60_000)
    return running.call('list_pending', {}, 60_000)
  }))
  const status = await statusOf(world)
  t.equal(status.clients?.length, 19)
  t.same([status.pid, ...status.clients!.map(({ pid }) => pid)].toSorted(), agents.map(({ pid }) => pid).toSorted())
  t.ok(agents.every(running => !running.over))
})

t.test('initialize and tools/list are answered before the election has ended', async t => {
  const world = await createWorld(t)
  const lock = acquireFolder(world.stateDir)
  const running = world.start()
  await running.initialize()
  t.match(await running.request('tools/list', {}), { result: { tools: { length: 4 } } })
  const asked = running.call('ask_human', { question: 'May I?' })
  lock.release()
  t.match(await asked, { status: 'pending' })
})

t.test('the daemon is killed in mid-wait: the waits go on with the next, nothing is lost and nothing doubled', async t => {
  const world = await createWorld(t)
  const daemon = await startAgent(world, 'daemon')
  const kept = await daemon.call('ask_human', { question: 'Keep this?' })
  const others = await Promise.all(['a', 'b', 'c'].map(cwd => startAgent(world, cwd)))
  const tickets = await Promise.all(others.map(running => running.call('ask_human', { question: 'May I?' })))
  const waits = others.map((running, i) => running.call('wait_for_answer', { id: tickets[i]!.id, timeout_seconds: 60 }, 60_000))
  const before = await untilStatus(world, ({ waiting, clients }) => waiting === 3 && clients?.length === 3, 'three waits')
  t.equal(before.pid, daemon.pid)

  daemon.kill('SIGKILL')
  const killed = performance.now()
  // Asked at the very moment there is no daemon.
  const asked = others[0]!.call('ask_human', { question: 'And this?' })
  await eventually(() => fetch(`${world.url}/healthz`).then(({ ok }) => ok || undefined, () => undefined), 'the next daemon')
  const took = performance.now() - killed
  t.comment(`the next daemon answered after ${Math.round(took)} ms`)
  t.ok(took < 5_000, 'in under a second, with five times slack')
  const extra = await asked

  const after = await untilStatus(world, ({ waiting, pending }) => waiting === 3 && pending === 5, 'three waits and five tickets')
  t.ok(others.some(({ pid }) => pid === after.pid))
  t.not(after.instance, before.instance)
  for (const { id } of tickets) t.equal((await world.api('/api/answer', { id, answer: 'yes' })).status, 200)
  for (const answer of await Promise.all(waits)) t.match(answer, { status: 'answered', answer: 'HUMAN ANSWER: yes' })
  const { body } = await world.api<{ tickets: Array<{ id: string, status: string }> }>('/api/tickets')
  t.same(body.tickets.filter(({ status }) => status === 'pending').map(({ id }) => id), [kept.id, extra.id].toSorted())
})

t.test('a daemon that is stopped for four seconds is waited for, and not replaced', async t => {
  const world = await createWorld(t)
  const daemon = await startAgent(world, 'daemon')
  await daemon.call('list_pending', {})
  const client = await startAgent(world, 'client')
  await client.call('list_pending', {})
  const { instance } = await statusOf(world)

  daemon.kill('SIGSTOP')
  const stopped = performance.now()
  const asked = client.call('ask_human', { question: 'May I?' })
  const late = world.start([], { cwd: 'late' })
  await late.initialize()
  const lateAsk = late.call('ask_human', { question: 'May I too?' })
  let answered = false
  Promise.race([asked, lateAsk]).finally(() => { answered = true })
  await eventually(() => performance.now() - stopped > 4_000 || undefined, 'four seconds')
  t.notOk(answered)
  t.notOk(client.over || late.over)
  daemon.kill('SIGCONT')
  t.match([await asked, await lateAsk], [{ status: 'pending' }, { status: 'pending' }])
  const status = await statusOf(world)
  t.equal(status.instance, instance)
  t.match(status, { pid: daemon.pid, pending: 2, clients: { length: 2 } })
})

t.test('a pid that is another program\'s by now is neither believed nor touched', async t => {
  const world = await createWorld(t)
  const first = await startAgent(world, 'first')
  await first.call('ask_human', { question: 'May I?' })
  const file = readDaemonFile(world.stateDir)!
  first.kill('SIGKILL')
  await first.finished
  // This test's own pid stands in for a program that got the number since.
  writeFileSync(join(world.stateDir, 'daemon.json'), JSON.stringify({ ...file, pid: process.pid }))
  t.same(await statusOf(world), { running: false })
  t.equal((await world.run(['stop'])).code, 0)
  const next = await startAgent(world, 'next')
  t.equal((await next.call('list_pending', {})).tickets?.length, 1, 'what was acknowledged is there')
  t.equal(readDaemonFile(world.stateDir)?.pid, next.pid)
})

t.test('daemon.json of no bytes or of garbage is stale', async t => {
  for (const content of ['', 'null', '{"pid":1,"port":', '{"pid":"4711"}']) {
    const world = await createWorld(t)
    acquireFolder(world.stateDir).release()
    writeFileSync(join(world.stateDir, 'daemon.json'), content)
    const running = world.start(['serve'])
    await running.opened()
    t.match(await statusOf(world), { running: true, pid: running.pid }, JSON.stringify(content))
  }
})

t.test('a second serve stands by, and takes over when the first is stopped', async t => {
  const world = await createWorld(t)
  const first = world.start(['serve'])
  await first.opened()
  const second = world.start(['serve'])
  await second.opened()
  t.match(await statusOf(world), { pid: first.pid, clients: [{ pid: second.pid }] })
  const { code, stdout } = await world.run(['stop'])
  t.equal(code, 0)
  t.match(stdout, new RegExp(`pid ${first.pid}.*pid ${second.pid}`))
  t.equal((await first.finished).code, 0)
  t.match(await statusOf(world), { running: true, pid: second.pid, clients: [] })
  t.equal((await world.run(['stop'])).code, 0)
  t.equal((await second.finished).code, 0)
  t.same(world.alive(), [])
  t.notMatch(readFileSync(join(world.stateDir, 'audit.jsonl'), 'utf8'), /secret/)
})

t.test('a client that is killed frees its place', async t => {
  const world = await createWorld(t)
  const daemon = await startAgent(world, 'daemon')
  await daemon.call('list_pending', {})
  const client = await startAgent(world, 'client')
  const { id } = await client.call('ask_human', { question: 'May I?' })
  client.request('tools/call', { name: 'wait_for_answer', arguments: { id, timeout_seconds: 600 } }).catch(() => {})
  await untilStatus(world, ({ waiting, clients }) => waiting === 1 && clients?.length === 1, 'the wait')
  client.kill('SIGKILL')
  await untilStatus(world, ({ waiting, clients, pending }) => waiting === 0 && clients?.length === 0 && pending === 1, 'its place to be free')
})
