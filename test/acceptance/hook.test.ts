import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { createWorld, eventually, Running, SCRIPT } from '../helpers/process'

const DIST = resolve(import.meta.dirname, '../../dist')
const PROMPT = JSON.stringify({ session_id: 's', hook_event_name: 'UserPromptSubmit', prompt: 'go on' })

/** The two files alone, started as an agent's machine does. */
function script (t: Test, name: 'hook' | 'watch', args: string[], env: Record<string, string>): Running {
  const child = spawn(process.execPath, [join(DIST, `${name}.mjs`), ...args], { env, stdio: 'pipe' })
  t.teardown(() => { child.kill('SIGKILL') })
  return new Running(child)
}

const skip = !existsSync(join(DIST, 'hook.mjs')) && 'there is no build'

t.test('two agents: one is told by its hook once, the other is woken by one line', { skip }, async t => {
  const world = await createWorld(t)
  const owner = 'the-owners-token-of-some-length'
  const serving = world.start(['serve'], { env: { READYROOM_TOKEN: owner }, stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const admin = async (...words: string[]): Promise<string> => (await world.run(['admin', ...words], { env: { READYROOM_TOKEN: owner } })).stdout
  await admin('init')
  const token = async (agent: string): Promise<string> => /rr_[\w-]{43}/.exec(await admin('add-token', '--agent', agent, '--room', 'main'))![0]
  const [alpha, beta] = [await token('alpha'), await token('beta')]
  const env = { READYROOM_URL: world.url, READYROOM_AGENT_TOKEN: alpha, READYROOM_STATE_DIR: join(world.home, 'alpha [1]') }
  const hook = async (): Promise<string> => {
    const running = script(t, 'hook', [], env)
    running.child.stdin!.end(PROMPT)
    const { code, stdout } = await running.finished
    t.equal(code, 0)
    return stdout
  }
  await hook()
  const watch = script(t, 'watch', ['--debug'], env)
  await watch.logged(/connected to main as alpha/)
  const post = async (body: string): Promise<void> => {
    const headers = { authorization: `Bearer ${beta}`, 'content-type': 'application/json' }
    t.equal((await fetch(`${world.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify({ body }) })).status, 200)
  }
  for (let n = 0; n < 20; n++) await post(`to nobody ${n}`)
  await post('@alpha: look at this')
  await watch.until(({ stdout }) => stdout.includes('\n') || undefined, 'a line')
  t.match(watch.stdout, /^Ready Room \[main\]: for you, "beta" in message 21 .*"@alpha: look at this".*\n$/)
  t.match(await hook(), /@alpha: look at this/)
  t.equal(await hook(), '', 'once')
  const attention = await eventually(async () => {
    const response = await fetch(`${world.url}/v1/attention?room=main`, { headers: { authorization: `Bearer ${owner}` } })
    const text = await response.text()
    return /"wakeups":1/.test(text) && /"injections":1/.test(text) ? text : undefined
  }, 'what it cost')
  t.match(attention, 'alpha')
  t.equal(watch.stdout.split('\n').length, 2, 'one line')
  watch.kill('SIGTERM')
  t.match(await watch.finished, { code: 0 })

  // Two sessions of one agent, on one machine.
  const sessions = ['one', 'two'].map(name => ({ ...env, READYROOM_STATE_DIR: join(world.home, 'shared'), CLAUDE_CODE_SESSION_ID: name }))
  const park = async (): Promise<[Running, Running]> => {
    const parked = sessions.map(session => script(t, 'watch', ['--debug'], session)) as [Running, Running]
    for (const one of parked) await one.logged(/connected to main as alpha/)
    return parked
  }
  const woken = async (parked: Running[], text: string): Promise<void> => {
    for (const one of parked) await one.until(({ stdout }) => stdout.includes(text) || undefined, text)
  }
  const [one, two] = await park()
  await post('@alpha: to both of you')
  await woken([one, two], 'to both of you')
  two.kill('SIGKILL')
  await two.finished
  await post('@alpha: one is here')
  await woken([one], 'one is here')
  one.kill('SIGKILL')
  await one.finished
  await post('@alpha: nobody is here')
  const [again, late] = await park()
  await woken([again, late], 'nobody is here')
  // Killed between a line and its mark it says that line again: better twice than never.
  t.match(late.stdout, /[23] new, by beta .*[23] for you, the last "beta" in message 24/)
  // The client is gone, and nobody reads any more.
  again.child.stdout!.destroy()
  await post('@alpha: into the void')
  t.match(await again.finished, { code: 0 })
  await woken([late], 'into the void')
  const [back] = await park()
  await woken([back], 'into the void')
  // Started again in the same session, the newer has the place: nobody is woken twice.
  await post('@alpha: once for each')
  await woken([back], 'once for each')
  t.match(await late.finished, { code: 0, stderr: /another watcher of this session was started after this one/ })
  t.notMatch(late.stdout, 'once for each')
  back.kill('SIGKILL')
})

t.test('the whole process is over within two seconds, with a server that never answers and an input that never ends', { skip }, async t => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const env = { READYROOM_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, READYROOM_STATE_DIR: t.testdir() }
  const deaf = script(t, 'hook', [], env)
  deaf.child.stdin!.end(PROMPT)
  const endless = script(t, 'hook', [], env)
  endless.child.stdin!.write('{"hook_event_name":')
  for (const running of [deaf, endless]) {
    const { code, stdout, stderr, ms } = await running.finished
    t.strictSame([code, stdout, stderr], [0, '', ''])
    t.ok(ms < 2_000, `${Math.round(ms)} ms`)
  }
})

t.test('readyroom hook and readyroom watch are the same two programs', { skip: SCRIPT.length > 1 && 'there is no build' }, async t => {
  const world = await createWorld(t)
  t.match(await world.run(['hook', '--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ })
  const env = { READYROOM_AGENT_TOKEN: 'rr_some' }
  t.match(await world.run(['watch', '--set-mode', 'hook-only'], { env }), { code: 0, stdout: /The mode is hook-only/ })
  t.match(await world.run(['watch'], { env }), { code: 0, stdout: '', stderr: /hook-only/ })
  t.match(await world.run(['watch']), { code: 2, stdout: '', stderr: /READYROOM_AGENT_TOKEN is not set/ })
  t.match(await world.run(['watch', '--mode', 'loud']), { code: 2, stderr: /--mode must be one of/ })
  t.match(await world.run(['hook', '--help']), { code: 0, stdout: /--selfcheck/ })
})
