import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { createWorld, eventually, SCRIPT, type World } from '../helpers/process'

const BIN = join(process.env['READYROOM_TEST_CLIENTS'] ?? '', 'node_modules/.bin')
const PROJECT = 'my repo (v2)'
/** They look for updates, send reports or ask for trust, none of which is for a test. */
const QUIET = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', GEMINI_CLI_TRUST_WORKSPACE: 'true', OPENCODE_DISABLE_AUTOUPDATE: '1', NO_COLOR: '1', CI: '1' }

/** What a client prints, on both of its outputs, without colours. */
async function prints (world: World, words: string[], env: Record<string, string> = {}): Promise<string> {
  const cwd = join(world.home, PROJECT)
  mkdirSync(cwd, { recursive: true })
  const before = world.alive()
  const child = spawn(join(BIN, words[0]!), words.slice(1), {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    env: { ...QUIET, HOME: world.home, PATH: [join(process.execPath, '..'), process.env['PATH']].join(delimiter), ...env }
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', piece => { text += piece })
  await once(child, 'close')
  // What it has started leaves when it has left.
  const ours = new Set(before)
  await eventually(() => world.alive().every(pid => ours.has(pid)) || undefined, `what ${words[0]} started to leave`)
  // eslint-disable-next-line no-control-regex
  const plain = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '')
  t.comment(`${words.join(' ')}\n${plain}`)
  return plain
}

const COMMAND = [process.execPath, ...SCRIPT]

t.test('Claude Code starts the entry, and says that it is connected', { skip: !existsSync(join(BIN, 'claude')) && 'claude is not installed there' }, async t => {
  const world = await createWorld(t)
  await prints(world, ['claude', 'mcp', 'add', '--scope', 'user', 'other', '--', 'true'])
  const args = ['setup', 'claude', '--stream', PROJECT, '--port', String(world.port), '--write']
  t.match(await world.run(args), { code: 0 })
  t.match(await world.run(args), { code: 0, stdout: /is as it was/ })
  const listed = await prints(world, ['claude', 'mcp', 'list'])
  t.match(listed, `readyroom: ${COMMAND.join(' ')} - ✔ Connected`)
  t.match(listed, /other: true/, 'another entry is still there')
  const got = await prints(world, ['claude', 'mcp', 'get', 'readyroom'])
  for (const line of ['Status: ✔ Connected', `READYROOM_STREAM=${PROJECT}`, 'Timeout: 610000ms']) t.match(got, line)
})

t.test('Claude Code reaches an address, with the Origin and the token that it is told of', { skip: !existsSync(join(BIN, 'claude')) && 'claude is not installed there' }, async t => {
  const world = await createWorld(t)
  const env = { READYROOM_TOKEN: 'a-token-that-nobody-may-ever-see' }
  const serving = world.start(['serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  t.match(await world.run(['setup', 'claude', '--url', world.url, '--stream', PROJECT, '--write'], { env }), { code: 0 })
  t.notMatch(readFileSync(join(world.home, '.claude.json'), 'utf8'), env.READYROOM_TOKEN)
  t.match(await prints(world, ['claude', 'mcp', 'list'], env), /readyroom: http.*my%20repo%20\(v2\) \(HTTP\) - ✔ Connected/)
  t.notMatch(await prints(world, ['claude', 'mcp', 'list']), /✔ Connected/, 'without the token it is not let in')
})

t.test('Codex reads both kinds of entry', { skip: !existsSync(join(BIN, 'codex')) && 'codex is not installed there' }, async t => {
  const world = await createWorld(t)
  await prints(world, ['codex', 'mcp', 'add', 'other', '--', 'true'])
  t.match(await world.run(['setup', 'codex', '--stream', PROJECT, '--write']), { code: 0 })
  const got = await prints(world, ['codex', 'mcp', 'get', 'readyroom'])
  for (const line of ['enabled: true', `command: ${process.execPath}`, 'tool_timeout_sec: 610']) t.match(got, line)
  t.match(await world.run(['setup', 'codex', '--url', 'https://desk.example', '--stream', PROJECT, '--write']), { code: 0 })
  const address = await prints(world, ['codex', 'mcp', 'get', 'readyroom'])
  for (const line of ['transport: streamable_http', 'url: https://desk.example/mcp/my%20repo%20(v2)', 'bearer_token_env_var: READYROOM_TOKEN', 'Origin']) t.match(address, line)
  t.match(await prints(world, ['codex', 'mcp', 'list']), /other/, 'another entry is still there')
})

t.test('Gemini CLI starts the entry, and says that it is connected', { skip: !existsSync(join(BIN, 'gemini')) && 'gemini is not installed there' }, async t => {
  const world = await createWorld(t)
  await prints(world, ['gemini', 'mcp', 'add', '-s', 'user', 'other', 'true'])
  t.match(await world.run(['setup', 'gemini', '--stream', PROJECT, '--port', String(world.port), '--write']), { code: 0 })
  const listed = await prints(world, ['gemini', 'mcp', 'list'])
  t.match(listed, `readyroom: ${COMMAND.join(' ')} (stdio) - Connected`)
  t.match(listed, /other: true/)
})

t.test('opencode starts the entry, and says that it is connected', { skip: !existsSync(join(BIN, 'opencode')) && 'opencode is not installed there' }, async t => {
  const world = await createWorld(t)
  t.match(await world.run(['setup', 'opencode', '--stream', PROJECT, '--port', String(world.port), '--write']), { code: 0 })
  t.match(await prints(world, ['opencode', 'mcp', 'list']), /✓ readyroom connected/)
})
