import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createWorld, type World } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

t.setTimeout(120_000)

/** What the file is made of. */
function bytesOf (world: World): Buffer { return readFileSync(join(world.stateDir, 'room.db')) }

t.test('rooms of a newer release are refused by file and remedy, nothing is changed, and once they are moved aside the queue opens', async t => {
  const world = await createWorld(t)
  mkdirSync(world.stateDir, { recursive: true })
  const database = new DatabaseSync(join(world.stateDir, 'room.db'))
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (99)')
  database.close()
  const before = bytesOf(world)
  const said = /room\.db.*version 99.*run the newer release again/
  t.match(await world.run(['serve']), { code: 1, stderr: said })
  t.match(await world.run(['admin', 'list']), { code: 1, stderr: said })
  t.ok(bytesOf(world).equals(before))
  renameSync(join(world.stateDir, 'room.db'), join(world.stateDir, 'room.db.newer'))
  await world.start(['serve']).opened()
})

t.test('rooms that are no database are refused by file, and left as they are', async t => {
  const world = await createWorld(t)
  mkdirSync(world.stateDir, { recursive: true })
  writeFileSync(join(world.stateDir, 'room.db'), 'this was somebody\'s notes'.repeat(400))
  const before = bytesOf(world)
  t.match(await world.run(['serve']), { code: 1, stderr: /room\.db/ })
  t.ok(bytesOf(world).equals(before))
})

t.test('an agent whose process is stopped past its lease finds its task with somebody else, and is told so', async t => {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  await world.run(['admin', 'init'])
  const mint = async (agent: string): Promise<string> => (await world.run(['admin', 'add-token', '--agent', agent, '--room', 'main'])).stdout.trim()
  const ann = await startAgent(world, 'a', { READYROOM_AGENT_TOKEN: await mint('ann') })
  const bob = await startAgent(world, 'b', { READYROOM_AGENT_TOKEN: await mint('bob') })
  const { id } = await ann.call('create_task', { title: 'Ship' })
  t.match(await ann.call('claim_task', { task_id: id, lease_seconds: 30 }), { owner: 'ann' })
  ann.kill('SIGSTOP')
  ann.say({ id: 1_000, method: 'tools/call', params: { name: 'update_task', arguments: { task_id: id, status: 'done' } } })
  // The lease is wound back instead of waiting for half a minute.
  const database = new DatabaseSync(join(world.stateDir, 'room.db'))
  database.exec("PRAGMA busy_timeout = 5000; UPDATE tasks SET lease_until = '2020-01-01T00:00:00.000Z'")
  database.close()
  t.match(await bob.call('claim_task', { task_id: id }), { owner: 'bob', status: 'in_progress' })
  ann.kill('SIGCONT')
  const late = await ann.until(({ stdout }) => stdout.split('\n').find(line => line.includes('"id":1000')), 'the answer to what it sent while it was stopped')
  t.match(JSON.parse(late), { result: { isError: true, content: [{ text: /bob/ }] } })
  t.match(await bob.call('get_task', { task_id: id }), { owner: 'bob', status: 'in_progress' })
  t.match(await ann.call('read_events', { kind: 'task_lapsed' }), { events: [{ task_id: id, actor: 'system', concerns: ['ann'] }] })
})
