import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { examine } from '../../../../lib/node/doctor/doctor'
import { VARIABLES } from '../../../../lib/node/doctor/machine'
import { readForgivingly } from '../../../../lib/node/commands/doctor-here'
import { complaints, healthy, illnesses } from '../../../helpers/scene'

const TOKEN = 'a-token-that-nobody-may-ever-see'

t.test('a fresh machine is well, but that no client knows of it', async t => {
  const { scene } = await healthy(t)
  const report = await examine(scene)
  t.equal(report.ok, true)
  t.strictSame(await complaints(scene), [
    'warn clients: No client that is known here has been told of Ready Room. -> readyroom setup claude --write, or codex, gemini, cursor, vscode, opencode'
  ])
  t.strictSame(report.checks.map(({ id }) => id), [
    'node', 'settings', 'token', 'state-folder', 'folder-modes', 'folder-space', 'folder-kind', 'leftovers', 'set-aside', 'snapshot', 'audit', 'port', 'daemon',
    'client-claude', 'client-codex', 'client-gemini', 'client-cursor', 'client-vscode', 'client-opencode', 'clients'
  ])
})

t.test('a Node that is too old fails', async t => {
  const { scene } = await healthy(t)
  t.match(await illnesses({ ...scene, nodeVersion: '20.19.0' }), [/^fail node: Node 20\.19\.0 is too old: .* 22\.13\.0 or newer\. -> Install/])
  t.strictSame(await illnesses({ ...scene, nodeVersion: '26.0.0' }), [])
})

t.test('a variable that cannot be read fails by name, the others are still used', async t => {
  const env = { READYROOM_PORT: '3500', READYROOM_BIND: '127.0.0.1:80', READYROOM_TOKEN: ' ', READYROOM_STREAM: 'mine', HOME: '/home/lea' }
  const { config, faults } = readForgivingly({}, env, '/')
  t.match(config, { port: 8971, bind: '127.0.0.1', stream: 'mine', token: undefined })
  t.match(faults, [/^READYROOM_TOKEN is blank/, /^READYROOM_BIND is "127\.0\.0\.1:80"/, /^READYROOM_PORT is "3500"/])
  t.throws(() => readForgivingly({ port: '3500' }, env, '/'), /--port is "3500"/)
  const { scene } = await healthy(t)
  t.match(await illnesses({ ...scene, faults }), [/^fail settings: READYROOM_TOKEN/, /^fail settings: READYROOM_BIND/, /^fail settings: READYROOM_PORT/])
})

t.test('a variable that is misspelt is said to do nothing', async t => {
  const { scene } = await healthy(t, { READYROOM_PROT: '9000' })
  t.match(await illnesses(scene), [/^warn settings: READYROOM_PROT is no setting of Ready Room/])
})

t.test('every variable that some part reads is known as a setting', t => {
  const root = new URL('../../../../', import.meta.url).pathname
  const read = globSync('{lib/node,client}/**/*.ts', { cwd: root }).flatMap(file => readFileSync(join(root, file), 'utf8').match(/(?<=['"`.])READYROOM_[A-Z_]+(?=['"`])/g) ?? [])
  // Written in by the build.
  const built = new Set(['READYROOM_VERSION', 'READYROOM_ROOM_THREAD', 'READYROOM_HOOK_SCRIPT', 'READYROOM_WATCH_SCRIPT'])
  const unknown = [...new Set(read)].filter(name => !VARIABLES.includes(name) && !built.has(name) && !name.endsWith('_'))
  t.ok(read.length > 40)
  t.strictSame(unknown, [])
  t.end()
})

t.test('a token that can be guessed, or that is missing where others reach it, is said and never shown', async t => {
  const weak = await healthy(t, { READYROOM_TOKEN: 'short-secret' })
  t.match(await illnesses(weak.scene), [/^warn token: The token has 12 characters.* -> .*openssl rand/])
  const open = await healthy(t, { READYROOM_BIND: '0.0.0.0' })
  t.match(await illnesses(open.scene), [/^fail token: READYROOM_BIND is "0\.0\.0\.0": .*needs a token/])
  const good = await healthy(t, { READYROOM_TOKEN: TOKEN, READYROOM_BIND: '0.0.0.0' })
  t.strictSame(await illnesses(good.scene), [])
  for (const { scene } of [weak, open, good]) t.notMatch(JSON.stringify(await examine(scene)), new RegExp(`${TOKEN}|short-secret`))
})
