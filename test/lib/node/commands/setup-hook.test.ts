import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { digestOf } from '../../../../lib/node/client-scripts'
import { hookEntry, HOOK_EVENTS, putHooks } from '../../../../lib/node/clients/hook-settings'
import { setupHook, type SetupHookOptions } from '../../../../lib/node/commands/setup-hook'
import { scripted, type Reply } from '../../../helpers/client-server'
import { testFolder } from '../../../helpers/folder'

interface Settings { hooks: Record<string, Array<{ hooks: Array<{ command: string, args?: string[] }> }>> }

function machine (t: Test) {
  const home = join(testFolder(t), 'my home [v2] (x)')
  const said: string[] = []
  const options: SetupHookOptions = {
    scope: 'user',
    place: { platform: 'linux', env: {}, home, cwd: join(home, 'repo') },
    write: true,
    node: process.execPath,
    again: ['node', 'readyroom.mjs', 'setup', 'hook', '--write'],
    out: { write: async text => { said.push(text); return true } },
    note: text => { said.push(text) }
  }
  const settings = join(home, '.claude', 'settings.json')
  return { home, said, options, settings, read: () => JSON.parse(readFileSync(settings, 'utf8')) as Settings }
}

t.test('it installs both files and an entry at each hook, which run from a path with spaces and brackets; twice changes nothing', async t => {
  const { home, said, options, settings, read } = machine(t)
  t.equal(await setupHook(options), 0)
  t.strictSame(Object.keys(read().hooks), [...HOOK_EVENTS])
  for (const event of HOOK_EVENTS) {
    const { command, args } = read().hooks[event]![0]!.hooks[0]!
    const ran = spawnSync(command, args, { input: JSON.stringify({ hook_event_name: event }), encoding: 'utf8', env: { READYROOM_URL: 'http://127.0.0.1:1', READYROOM_STATE_DIR: home } })
    t.match(ran, { status: 0, stdout: '', stderr: '' })
  }
  const before = readFileSync(settings)
  said.length = 0
  await setupHook(options)
  t.match(said[0], /has the hook already/)
  t.ok(before.equals(readFileSync(settings)))
  t.strictSame(readdirSync(join(home, '.claude')).sort(), ['hooks', 'settings.json'], 'no backup of nothing')
})

t.test('other hooks and settings stay as they are, an older entry of ours is renewed in its place, and a backup is kept', async t => {
  const { home, options, settings, read } = machine(t)
  const other = { matcher: 'Bash', hooks: [{ type: 'command', command: 'lint' }] }
  const old = { hooks: [{ type: 'command', command: 'log' }, { type: 'command', command: 'node "/old/readyroom-hook.mjs"' }] }
  const text = JSON.stringify({ model: 'm', hooks: { PostToolUse: [other], Stop: [old], PreToolUse: [other] } }, null, 4)
  mkdirSync(join(home, '.claude'), { recursive: true })
  writeFileSync(settings, text)
  await setupHook(options)
  const { model, hooks } = read() as Settings & { model: string }
  t.equal(model, 'm')
  t.strictSame(hooks['PreToolUse'], [other])
  t.strictSame(hooks['PostToolUse']!.length, 2)
  t.strictSame(hooks['PostToolUse']![0], other)
  t.equal(hooks['Stop']!.length, 1)
  t.strictSame(hooks['Stop']![0]!.hooks.map(({ command }) => command), ['log', process.execPath])
  const backup = readdirSync(join(home, '.claude')).find(name => name.includes('.before-readyroom-'))!
  t.equal(readFileSync(join(home, '.claude', backup), 'utf8'), text)
})

t.test('settings that cannot be read are left as they were, and a path that would be replaced is refused', async t => {
  const { home, options, settings } = machine(t)
  mkdirSync(join(home, '.claude'), { recursive: true })
  for (const text of ['{"hooks": [', '{"hooks": []}', '{"hooks": {"Stop": {}}}']) {
    writeFileSync(settings, text)
    await t.rejects(setupHook(options), { name: 'RefusedError', message: /left as it was/ })
    t.equal(readFileSync(settings, 'utf8'), text)
  }
  t.throws(() => hookEntry('/node', '/${HOME}/x'), /replaces/) // eslint-disable-line no-template-curly-in-string
  t.match(putHooks('{\r\n\t"a": 1\r\n}\r\n', hookEntry('n', 'readyroom-hook.mjs')), /\r\n\t"hooks"/)
})

t.test('what a server sends is taken only where its digest is right', async t => {
  const text = 'process.exit(0)\n'
  let digest = digestOf(text)
  let status = 200
  const { url, asked } = await scripted(t, (_asked, response) => { response.writeHead(status, { 'x-readyroom-sha256': digest }).end(text) })
  const { home, options } = machine(t)
  const from = { url: `${url}/`, token: 'rr_secret' }
  t.equal(await setupHook({ ...options, from }), 0)
  t.equal(readFileSync(join(home, '.claude', 'hooks', 'readyroom-hook.mjs'), 'utf8'), text)
  t.strictSame(asked.map(({ path, headers }) => [path, headers.authorization]), [['/v1/hook', 'Bearer rr_secret'], ['/v1/watch', 'Bearer rr_secret']])
  const clean = machine(t)
  digest = digestOf('something else')
  await t.rejects(setupHook({ ...clean.options, from }), /SHA-256 does not match/)
  // The one that is right, with something behind it.
  digest = digestOf(text)
  const tampering = await scripted(t, (_asked, response) => { response.writeHead(200, { 'x-readyroom-sha256': digest }).end(`${text}//`) })
  await t.rejects(setupHook({ ...clean.options, from: { url: `${tampering.url}/`, token: 'rr_secret' } }), /SHA-256 does not match/)
  status = 401
  await t.rejects(setupHook({ ...clean.options, from }), /401: set READYROOM_AGENT_TOKEN/)
  t.throws(() => readdirSync(join(clean.home, '.claude')), 'nothing was written')
})

t.test('a server that never ends, leads elsewhere or breaks off is refused by what it does, and nothing is written', async t => {
  const other = await scripted(t, (_asked, response) => { response.end('') })
  const cases: Array<[reply: Reply, says: RegExp]> = [
    [(_asked, response) => { const more = (): void => { if (!response.destroyed) response.write('x'.repeat(300_000), () => setImmediate(more)) }; more() }, /longer than 1048576 bytes/],
    [(_asked, response) => { response.writeHead(302, { location: `${other.url}/v1/hook` }).end() }, /cannot be fetched/],
    [(_asked, response) => { response.writeHead(200, { 'content-length': '9' }).write('x'); setImmediate(() => { response.destroy() }) }, /cannot be fetched/]
  ]
  for (const [reply, says] of cases) {
    const { url } = await scripted(t, reply)
    const { home, options } = machine(t)
    await t.rejects(setupHook({ ...options, from: { url: `${url}/`, token: 'rr_secret' } }), { name: 'RefusedError', message: says })
    t.throws(() => readdirSync(join(home, '.claude')))
  }
  t.equal(other.asked.length, 0, 'the token goes nowhere else')
})
