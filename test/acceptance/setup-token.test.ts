import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorld } from '../helpers/process'

type World = Awaited<ReturnType<typeof createWorld>>

const SECRET = 'the-secret-of-the-owner'
const TOKEN = /rr_[\w-]{43}/

const entryOf = (world: World): { env: Record<string, string>, headers: Record<string, string> } =>
  JSON.parse(readFileSync(join(world.home, '.claude.json'), 'utf8')).mcpServers.readyroom

const tokensOf = async (world: World): Promise<Array<{ id: number, agent: string, home: string, role: string }>> =>
  JSON.parse((await world.run(['admin', 'list', '--json'])).stdout).tokens

t.test('before admin init setup makes no token and no rooms, and says so where one is asked for', async t => {
  const world = await createWorld(t)
  t.match(await world.run(['setup', 'claude', '--write']), { code: 0 })
  t.notOk(entryOf(world).env?.['READYROOM_AGENT_TOKEN'])
  t.match(await world.run(['setup', 'claude', '--write', '--agent', 'ann']), { code: 1, stderr: /Begin with `readyroom admin init`/ })
  t.notOk(existsSync(join(world.stateDir, 'room.db')))
})

t.test('after admin init an entry gets a token of its own, once, without a daemon; the owner\'s secret goes', async t => {
  const world = await createWorld(t)
  const env = { READYROOM_TOKEN: SECRET }
  await world.run(['setup', 'claude', '--inline-token', '--write'], { env })
  await world.run(['setup', 'codex', '--write'], { env })
  t.equal(entryOf(world).env['READYROOM_TOKEN'], SECRET)
  await world.run(['admin', 'init'])

  const shown = await world.run(['setup', 'claude'], { cwd: 'My Repo', env })
  t.match(shown, { code: 0, stdout: /"READYROOM_AGENT_TOKEN": "<the token, which --write puts here>"/, stderr: /A token of my-repo in the room main is made/ })
  t.strictSame(await tokensOf(world), [], 'to be shown costs no token')
  t.match(await world.run(['setup', 'claude', '--inline-token', '--write'], { env }), { code: 2, stderr: /--inline-token would hand your own secret to an agent/ })

  const first = await world.run(['setup', 'claude', '--write'], { cwd: 'My Repo', env })
  t.match(first, { code: 0, stderr: /It has a token of its own now: my-repo, number 1, home room main/ })
  t.notMatch(first.stdout + first.stderr, TOKEN)
  const token = entryOf(world).env['READYROOM_AGENT_TOKEN']
  t.match(token, TOKEN)
  t.notOk('READYROOM_TOKEN' in entryOf(world).env)
  const before = readFileSync(join(world.home, '.claude.json'), 'utf8')
  t.match(await world.run(['setup', 'claude', '--write'], { cwd: 'My Repo', env }), { code: 0, stdout: /knows Ready Room already/ })
  t.equal(readFileSync(join(world.home, '.claude.json'), 'utf8'), before)
  t.match(await tokensOf(world), [{ id: 1, agent: 'my-repo', home: 'main', role: 'agent' }])

  await world.run(['setup', 'codex', '--write', '--agent', 'Cody'], { env })
  const codex = readFileSync(join(world.home, '.codex/config.toml'), 'utf8')
  t.match(codex, /READYROOM_AGENT_TOKEN = "rr_/)
  t.notMatch(codex, 'READYROOM_TOKEN')
  t.match((await tokensOf(world)).map(({ agent }) => agent), ['my-repo', 'cody'])
})

t.test('through the daemon a dead token is replaced, a live one only by another name or room, and the agent gets in', async t => {
  const world = await createWorld(t)
  await world.run(['admin', 'init'])
  await world.run(['admin', 'add-room', 'annex'])
  const daemon = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await daemon.opened()
  await world.run(['setup', 'claude', '--write', '--agent', 'ann', '--room', 'annex'])
  await world.run(['setup', 'claude', '--write'])
  t.match(await tokensOf(world), [{ id: 1, agent: 'ann', home: 'annex' }], 'the live one is kept, whatever the folder is called')
  await world.run(['admin', 'revoke', 'ann'])
  await world.run(['setup', 'claude', '--write', '--agent', 'ann'])
  t.match(await tokensOf(world), [{ id: 2, agent: 'ann', home: 'main' }])
  t.match(await world.run(['setup', 'claude', '--write', '--agent', 'bob']), { stderr: /The one it had, of ann, is alive still: readyroom admin revoke --id 2/ })

  const agent = world.start([], { env: entryOf(world).env })
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'In?' })
  t.match(id, /^[0-9a-f-]{36}$/)
  await agent.call('cancel_ticket', { id })
})

t.test('a file that cannot be changed costs no token: what was minted is revoked again', async t => {
  const world = await createWorld(t)
  await world.run(['admin', 'init'])
  const file = join(world.home, '.claude.json')
  writeFileSync(file, '{ oops')
  t.match(await world.run(['setup', 'claude', '--write', '--agent', 'ann']), { code: 1, stderr: /is not JSON/ })
  t.strictSame(JSON.parse((await world.run(['admin', 'list', '--revoked', '--json'])).stdout).tokens, [], 'refused before anything was minted')
  writeFileSync(file, '{ "mcpServers": { "readyroom": {} }, "mcpServers": {} }')
  t.match(await world.run(['setup', 'claude', '--write', '--agent', 'ann']), { code: 1, stderr: /left as it was/ })
  t.strictSame(await tokensOf(world), [])
  t.match(await world.run(['setup', 'claude', '--write', '--agent', 'human']), { code: 2, stderr: /--agent may not be "human"/ })
  t.match(await world.run(['setup', 'claude', '--write', '--room', 'nowhere']), { code: 1, stderr: /There is no room "nowhere"/ })
})

t.test('the file of a project names the variable, and says how each makes a token', async t => {
  const world = await createWorld(t)
  await world.run(['admin', 'init'])
  const { stderr } = await world.run(['setup', 'claude', '--scope', 'project', '--write'], { cwd: 'repo', env: { READYROOM_TOKEN: SECRET } })
  t.match(stderr, /readyroom admin add-token --agent repo --room main/)
  t.match(stderr, /set READYROOM_AGENT_TOKEN for it/)
  const text = readFileSync(join(world.home, 'repo/.mcp.json'), 'utf8')
  t.match(text, /"READYROOM_AGENT_TOKEN": "\$\{READYROOM_AGENT_TOKEN\}"/)
  t.notMatch(text, '{READYROOM_TOKEN')
  t.strictSame(await tokensOf(world), [])
})

t.test('an address takes the token that is given, as a bearer; none can be made there', async t => {
  const world = await createWorld(t)
  const given = `rr_${'a'.repeat(43)}`
  const env = { READYROOM_AGENT_TOKEN: given, READYROOM_TOKEN: SECRET }
  const url = ['--url', 'https://desk.example', '--stream', 'ann']
  const { stdout, stderr } = await world.run(['setup', 'claude', ...url], { env })
  t.notMatch(stdout + stderr, given)
  await world.run(['setup', 'claude', ...url, '--write'], { env })
  t.equal(entryOf(world).headers['Authorization'], `Bearer ${given}`)
  t.match(await world.run(['setup', 'cursor', ...url, '--scope', 'project'], { env }), { stdout: /Bearer \$\{env:READYROOM_AGENT_TOKEN\}/ })
  t.match(await world.run(['setup', 'claude', ...url, '--agent', 'ann'], { env }), { code: 2, stderr: /Set READYROOM_AGENT_TOKEN/ })
})
