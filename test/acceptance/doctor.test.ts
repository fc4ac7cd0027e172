import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorld } from '../helpers/process'

const TOKEN = 'a-token-that-nobody-may-ever-see'

t.test('on a machine where nothing ever ran it is content, tells how to begin, and makes nothing', async t => {
  const world = await createWorld(t)
  const { code, stdout, stderr } = await world.run(['doctor'])
  t.strictSame([code, stderr], [0, ''], stdout)
  t.match(stdout, /^ok {4}node .*\n/)
  t.match(stdout, /WARN {2}clients .*\n +mend: readyroom setup claude --write/)
  t.match(stdout, /\n0 failing, \d to look at, \d+ well\.\n$/)
  t.notOk(existsSync(world.stateDir))
  t.strictSame(world.alive(), [])
})

t.test('beside a daemon it reads what there is; a client that was set up is known; no token is shown', async t => {
  const world = await createWorld(t)
  const env = { READYROOM_TOKEN: TOKEN }
  const serving = world.start(['serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  await world.run(['setup', 'claude', '--write'], { env })
  const { code, stdout, stderr } = await world.run(['doctor', '--json', '--url', world.url], { env })
  const report = JSON.parse(stdout)
  t.strictSame([code, stderr, report.ok], [0, '', true], stdout)
  const of = (id: string): string => report.checks.find((check: { id: string }) => check.id === id)?.status
  for (const id of ['daemon', 'daemon-settings', 'client-claude', 'url-reach', 'url-page', 'url-token', 'url-events', 'url-origin', 'url-clock']) t.equal(of(id), 'ok', id)
  t.notMatch(stdout, TOKEN)
  const other = await world.run(['doctor', '--json', '--quick'], { env: { READYROOM_TOKEN: 'another-token-nobody-may-see' } })
  t.equal(other.code, 1)
  t.match(JSON.parse(other.stdout), { ok: false })
  t.match(other.stdout, /"daemon-settings","status":"fail"/)
})

t.test('what it mends it says, and is content afterwards; a bad variable is a failure, not the end', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  serving.kill('SIGKILL')
  await serving.finished
  chmodSync(world.stateDir, 0o755)
  writeFileSync(join(world.stateDir, 'audit.jsonl'), '', { mode: 0o600 })
  t.match(await world.run(['doctor']), { code: 0, stdout: /WARN {2}folder-modes[^]*WARN {2}daemon-file/ })
  const { code, stdout, stderr } = await world.run(['doctor', '--fix'])
  t.equal(code, 0)
  t.match(stderr, /is for you alone now\.\nreadyroom: .*daemon\.json is removed\.\n/)
  t.notMatch(stdout, /folder-modes .*Others|daemon-file/)
  t.equal(statSync(world.stateDir).mode & 0o777, 0o700)
  t.match(await world.run(['doctor'], { env: { READYROOM_BIND: 'a b' } }), { code: 1, stdout: /FAIL {2}settings .*READYROOM_BIND is "a b"/, stderr: '' })
  t.match(await world.run(['doctor', '--url', 'ftp://x']), { code: 2, stdout: '', stderr: /--url: it must begin with http/ })
})
