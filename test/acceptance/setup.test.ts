import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { INSTRUCTIONS } from '../../lib/tools'
import { createWorld, SCRIPT } from '../helpers/process'

const TOKEN = 'a-token-that-nobody-may-ever-see'
const CLIENTS = ['claude', 'codex', 'gemini', 'cursor', 'vscode', 'opencode']

t.test('what setup prints is the entry alone, and the file is only read about', async t => {
  const world = await createWorld(t)
  for (const client of CLIENTS) {
    const { code, stdout, stderr } = await world.run(['setup', client], { env: { READYROOM_PORT: '9000', READYROOM_TOKEN: TOKEN } })
    t.equal(code, 0)
    t.match(stdout, 'READYROOM_PORT', client)
    t.match(stderr, /To put it there:\n {2}node .*--write\n/)
    t.notMatch(stdout + stderr, TOKEN)
  }
  t.strictSame(spawnSync('find', [world.home, '-type', 'f'], { encoding: 'utf8' }).stdout, '', 'nothing was written')
})

t.test('the line that it prints does in bash what it says, in a home and a project with spaces and brackets', async t => {
  const world = await createWorld(t)
  const home = join(world.home, 'Lea Chan')
  mkdirSync(home)
  const options = { cwd: 'my repo (v2)', env: { HOME: home } }
  for (const client of CLIENTS) {
    const args = ['setup', client, '--scope', 'project', '--stream', "Lea's \"repo\" (v2) `id` $HOME !", '--state-dir', 'my queue (v2)']
    if (client === 'gemini') {
      t.match(await world.run(args, options), { code: 1, stdout: '', stderr: /READYROOM_STREAM holds characters that Gemini CLI replaces/ })
      args[5] = 'my repo (v2)'
    }
    const { stdout, stderr } = await world.run(args, options)
    const line = /To put it there:\n {2}(.*)\n/.exec(stderr)![1]!
    const folder = join(world.home, options.cwd)
    const { status, stdout: said, stderr: complaint } = spawnSync('bash', ['-c', line], { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: home, READYROOM_PORT: String(world.port) } })
    t.equal(status, 0, complaint)
    const file = /now: (.*)\.\n/.exec(said)![1]!
    t.ok(file.startsWith(folder), file)
    t.equal(readFileSync(file, 'utf8'), stdout, `${client}: what was shown`)
    t.match(stdout, join(folder, 'my queue (v2)'))
  }
})

t.test('a client that reads the entry reaches the queue by it', async t => {
  const world = await createWorld(t)
  await world.run(['setup', 'claude', '--write', '--stream', 'my repo (v2)'])
  const { command, args, env } = JSON.parse(readFileSync(join(world.home, '.claude.json'), 'utf8')).mcpServers.readyroom
  t.strictSame([command, ...args], [process.execPath, ...SCRIPT])
  const agent = world.start([], { env })
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'Found it?' })
  t.equal((await world.api<{ stream: string }>(`/api/tickets/${id}`)).body.stream, 'my repo (v2)')
  await agent.call('cancel_ticket', { id })
})

t.test('an address becomes an HTTP entry that the guard lets through', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { env: { READYROOM_TOKEN: TOKEN }, stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const env = { READYROOM_TOKEN: TOKEN }
  const { stderr } = await world.run(['setup', 'claude', '--url', world.url, '--stream', 'my repo (v2)', '--inline-token', '--write'], { env })
  t.notMatch(stderr, TOKEN)
  const { url, headers } = JSON.parse(readFileSync(join(world.home, '.claude.json'), 'utf8')).mcpServers.readyroom
  const ask = (more: Record<string, string>): Promise<Response> => fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'Found it?' } } })
  })
  t.equal((await ask(headers)).status, 200)
  const listed = await fetch(`${world.url}/api/tickets`, { headers: { authorization: headers.Authorization } })
  t.match(await listed.json(), { tickets: [{ stream: 'my repo (v2)' }] })
  t.match(await world.run(['setup', 'cursor', '--url', world.url], { env }), { code: 0, stdout: /Bearer \$\{env:READYROOM_TOKEN\}/, stderr: /No stream: .*\n.*set READYROOM_TOKEN for it/ })
})

t.test('a broken file is refused by its path and line, and stays as it was', async t => {
  const world = await createWorld(t)
  const file = join(world.home, '.claude.json')
  writeFileSync(file, '{\n  "mcpServers": {,\n')
  const { code, stdout, stderr } = await world.run(['setup', 'claude', '--write'])
  t.strictSame({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, `readyroom: ${file}, line 2, is not JSON`)
  t.match(stderr, /left as it was; mend it, then try again\.\n$/)
  t.equal(readFileSync(file, 'utf8'), '{\n  "mcpServers": {,\n')
})

t.test('an entry that is switched off is said to be', async t => {
  const world = await createWorld(t)
  mkdirSync(join(world.home, '.codex'))
  writeFileSync(join(world.home, '.codex/config.toml'), '[mcp_servers.readyroom]\nenabled = false\n')
  t.match(await world.run(['setup', 'codex', '--write']), { code: 0, stdout: /kept in .*before-readyroom/, stderr: /switched off/ })
})

t.test('the paragraph for agents is what the server tells them', async t => {
  const world = await createWorld(t)
  for (const [args, file] of [[['setup', '--instructions'], 'CLAUDE.md'], [['setup', 'codex', '--instructions'], 'AGENTS.md']] as const) {
    const { code, stdout, stderr } = await world.run([...args])
    t.equal(code, 0)
    t.equal(stdout.split('\n').slice(2).join(' ').trim(), INSTRUCTIONS)
    t.match(stderr, file)
  }
})
