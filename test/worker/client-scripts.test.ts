import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { HOOK_VERSION, WATCH_VERSION } from '../../client/versions'
import { clientScripts } from '../../scripts/client-scripts.mjs'
import { json, post, refused, type Init } from '../contract/http-target'
import { callerOf } from '../contract/v1'
import { testFolder } from '../helpers/folder'
import { ask } from '../helpers/http'
import { eventually, Running } from '../helpers/process'
import { buildWorker, startWorker, type Module, type RunningWorker } from '../helpers/worker'
import { request } from '../helpers/worker-client'
import { administer, mint } from '../helpers/worker-rooms'
import { VERSION } from '../../lib/node/version'

interface Client { server: object, scripts: Record<'hook' | 'watch', { version: string, sha256: string, url: string }> }

t.test('the hook and the watcher are those that Node hands out, to the byte, with their version and digest, to whoever has a token', async t => {
  const worker = await startWorker(t)
  const headers = { authorization: `Bearer ${await mint(worker, 'ann')}` }
  const texts = await clientScripts()
  const { server, scripts } = await json<Client>(ask(worker.origin, '/v1/client', { headers }))
  t.strictSame(server, { name: 'readyroom', version: VERSION })
  for (const [name, version] of [['hook', HOOK_VERSION], ['watch', WATCH_VERSION]] as const) {
    const sha256 = createHash('sha256').update(texts[name]).digest('hex')
    t.strictSame(scripts[name], { version, sha256, url: `/v1/${name}` })
    const response = await ask(worker.origin, `/v1/${name}`, { headers })
    t.equal(await response.text(), texts[name])
    const said = ['content-type', 'content-disposition', 'x-readyroom-version', 'x-readyroom-sha256'].map(header => response.headers.get(header))
    t.strictSame(said, ['text/javascript; charset=utf-8', `attachment; filename="readyroom-${name}.mjs"`, version, sha256])
    await refused(t, ask(worker.origin, `/v1/${name}`), 401, 'UNAUTHORIZED')
    await refused(t, ask(worker.origin, `/v1/${name}?x=1`, { headers }), 400, 'BAD_REQUEST')
  }
})

t.test('a hook learns its version where it asks anyway, in a refusal too, and nowhere else', async t => {
  const worker = await startWorker(t)
  const headers = { authorization: `Bearer ${await mint(worker, 'ann')}` }
  const version = async (path: string, init: Init): Promise<string | null> => (await ask(worker.origin, path, init)).headers.get('x-readyroom-hook-version')
  t.equal(await version('/v1/unread', { headers }), HOOK_VERSION)
  t.equal(await version('/v1/unread?limit=0', { headers }), HOOK_VERSION)
  t.equal(await version('/v1/unread', {}), HOOK_VERSION)
  t.equal(await version('/v1/whats-new', post({}, headers) as Init), HOOK_VERSION)
  t.equal(await version('/v1/agents', { headers }), null)
})

const UPGRADED = '/v1/events?kind=server_upgraded'

/** What the rooms of a deployment were told of versions. */
async function told (worker: RunningWorker, room: string): Promise<string[]> {
  const { events } = await json<{ events: Array<{ body: string }> }>(request(worker, `${UPGRADED}&room=${room}`))
  return events.map(({ body }) => body)
}

/** The Worker as a later release would upload it. */
async function release (version: string): Promise<Module[]> {
  const modules = await buildWorker()
  const named = new RegExp(`(["'\`])${VERSION.replaceAll('.', '\\.')}\\1`, 'g')
  const main = modules[0]!.contents
  if (!named.test(main)) throw new Error('the version stands nowhere in what was built')
  return [{ ...modules[0]!, contents: main.replace(named, `"${version}"`) }, ...modules.slice(1)]
}

t.test('a change of version is told to each room once, not at the first start, nor at a restart, nor where it is switched off', async t => {
  const persist = t.testdir()
  const deploy = async (version: string, announce = 'on'): Promise<RunningWorker> =>
    startWorker(t, { persist, modules: await release(version), env: { READYROOM_ANNOUNCE_UPGRADES: announce } })
  const first = await deploy('1.0.0')
  const token = await mint(first, 'ann', { also: ['lab'] })
  t.match(await json(ask(first.origin, '/v1/client', { headers: { authorization: `Bearer ${token}` } })), { server: { version: '1.0.0' } })
  t.strictSame(await told(first, 'main'), [], 'nobody is told at the first start')
  await first.close()

  const second = await deploy('1.1.0')
  for (const room of ['main', 'lab']) t.strictSame(await told(second, room), ['Ready Room is version 1.1.0 now; it was 1.0.0.'])
  await administer(second, 'add-room', { room: 'young' })
  await second.close()

  const again = await deploy('1.1.0')
  t.equal((await told(again, 'lab')).length, 1, 'a restart is no news')
  await again.close()

  const quiet = await deploy('1.2.0', 'off')
  t.equal((await told(quiet, 'main')).length, 1)
  await quiet.close()

  const third = await deploy('1.3.0')
  t.strictSame(await told(third, 'young'), ['Ready Room is version 1.3.0 now; it was 1.2.0.'], 'what was not told is not news later')
  t.equal((await told(third, 'main')).length, 2)
})

t.test('with the two files that a Worker hands out one agent is told by its hook once, and woken by one line of its watcher', async t => {
  const worker = await startWorker(t)
  const [alpha, beta] = [await mint(worker, 'alpha'), await mint(worker, 'beta')]
  const folder = testFolder(t)
  const env = { READYROOM_URL: worker.origin, READYROOM_AGENT_TOKEN: alpha, READYROOM_STATE_DIR: folder }
  const start = async (name: 'hook' | 'watch', ...args: string[]): Promise<Running> => {
    const path = join(folder, `${name}.mjs`)
    writeFileSync(path, await (await ask(worker.origin, `/v1/${name}`, { headers: { authorization: `Bearer ${alpha}` } })).text())
    const child = spawn(process.execPath, [path, ...args], { env, stdio: 'pipe' })
    t.teardown(() => { child.kill('SIGKILL') })
    return new Running(child)
  }
  const hook = async (): Promise<string> => {
    const running = await start('hook')
    running.child.stdin!.end(JSON.stringify({ session_id: 's', hook_event_name: 'UserPromptSubmit', prompt: 'go on' }))
    const { code, stdout } = await running.finished
    t.equal(code, 0)
    return stdout
  }
  await hook()
  const watch = await start('watch', '--debug')
  await watch.logged(/no stream there: asking every 15 s/)
  await watch.logged(/connected to main as alpha/)
  const [mine, theirs] = [callerOf({ origin: worker.origin, request: (path, init) => ask(worker.origin, path, init) }, alpha),
    callerOf({ origin: worker.origin, request: (path, init) => ask(worker.origin, path, init) }, beta)]
  for (let n = 0; n < 5; n++) await theirs.post('/v1/messages', { body: `to nobody ${n}` })
  await mine.post('/v1/messages', { body: '@alpha, says alpha' })
  await theirs.post('/v1/messages', { body: '@alpha: look at this' })
  await watch.until(({ stdout }) => stdout.includes('\n') || undefined, 'a line')
  t.match(watch.stdout, /^Ready Room \[main\]: for you, "beta" in message 7 .*"@alpha: look at this".*\n$/)
  t.match(await hook(), /@alpha: look at this/)
  t.equal(await hook(), '', 'once')
  await eventually(async () => {
    const text = JSON.stringify(await mine.get('/v1/attention'))
    return /"wakeups":1/.test(text) && /"injections":1/.test(text) ? text : undefined
  }, 'what it cost')
  watch.kill('SIGTERM')
  t.match(await watch.finished, { code: 0 })
  t.equal(watch.stdout.split('\n').length, 2, 'one line')
})
