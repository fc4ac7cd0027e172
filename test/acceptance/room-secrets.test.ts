import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorld, type Finished, type Running } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

t.setTimeout(120_000)

const textOf = async (agent: Running, name: string, args: object): Promise<string> => {
  const { result } = await agent.request('tools/call', { name, arguments: args })
  return (result!['content'] as Array<{ text: string }>)[0]!.text
}

/** What a file below a folder holds, by its path. */
const filesBelow = (folder: string): Array<[path: string, bytes: Buffer]> => readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name)).map(path => [path, readFileSync(path)])

t.test('a token is shown once, when it is minted: it is in no file, no log, no list, no export, no backup and no result of a tool', async t => {
  const world = await createWorld(t)
  const daemon = world.start(['serve'])
  await daemon.opened()
  await world.run(['admin', 'init'])
  const mint = async (agent: string): Promise<string> => (await world.run(['admin', 'add-token', '--agent', agent, '--room', 'main'])).stdout.trim()
  const [token, old] = [await mint('ann'), await mint('old')]
  t.match(token, /^rr_[\w-]{43}$/)
  const said: Finished[] = []
  const run = async (...args: string[]): Promise<Finished> => {
    const finished = await world.run(args, { env: { READYROOM_AGENT_TOKEN: token } })
    said.push(finished)
    return finished
  }

  const ann = await startAgent(world, 'a', { READYROOM_AGENT_TOKEN: token })
  const late = await startAgent(world, 'b', { READYROOM_AGENT_TOKEN: old })
  for (const [name, args] of [['whats_new', {}], ['list_agents', {}], ['ask_human', { question: 'May I?' }], ['post_message', { body: 'hello' }], ['get_room_info', {}],
    ['read_events', {}], ['search', { query: 'rr_' }], ['get_task', { task_id: 99 }], ['post_message', { body: 'x', room: 'elsewhere' }], ['post_message', {}]] as const) await textOf(ann, name, args)
  await run('admin', 'revoke', 'old')
  t.match(await textOf(late, 'post_message', { body: 'still me?' }), /READYROOM_AGENT_TOKEN is not a token/)
  t.match(await run('admin', 'list', '--revoked'), { code: 0, stdout: /ann/ })
  for (const args of [['admin', 'list'], ['status'], ['status', '--json'], ['doctor'], ['admin', 'revoke', token], ['admin', 'add-token', '--agent', token, '--room', 'main'], ['admin', 'nothing', token]]) await run(...args)
  t.match(await run('admin', 'backup', join(world.home, 'copy.db')), { code: 0 })
  t.match(await run('admin', 'export', '--room', 'main'), { code: 0, stdout: /hello/ })

  const files = filesBelow(world.home)
  t.ok(files.some(([path]) => path.endsWith('copy.db')) && files.some(([path]) => path.endsWith('audit.jsonl')))
  const hash = createHash('sha256').update(token).digest('hex')
  t.ok(files.some(([path, bytes]) => path.endsWith('copy.db') && bytes.includes(hash)), 'it is known by its hash, and what is looked through is what it was')
  for (const secret of [token, old]) {
    t.strictSame(files.filter(([, bytes]) => bytes.includes(secret)).map(([path]) => path), [], 'in no file')
    for (const { stdout, stderr } of [daemon, ann, late]) t.notOk(stdout.includes(secret) || stderr.includes(secret), 'in no output of a process')
    // Whoever puts one where a name belongs is shown what they wrote, on their own terminal.
    const unasked = said.filter(({ stdout, stderr }) => `${stdout}${stderr}`.includes(secret) && !/No live token of|name|nothing/.test(stderr))
    t.strictSame(unasked, [])
  }
})
