import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { EDGE_DEFAULTS, edgeEnvironment } from '../../../lib/node/edge-settings'
import { settingsOf } from '../../../lib/node/internal-options'
import { Successor, SUCCESSOR_LOG } from '../../../lib/node/successor'
import { configOf } from '../../helpers/member'

/** A script that says these words to whoever started it, writes down how it was started, and ends when that one lets go. */
function script (dir: string, words: string[], then = 'process.once("disconnect", () => process.exit(0))'): string {
  const path = join(dir, 'successor.mjs')
  writeFileSync(path, `
    import { writeFileSync } from 'node:fs'
    console.error('started')
    writeFileSync(${JSON.stringify(join(dir, 'seen.json'))}, JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), env: process.env, execArgv: process.execArgv }))
    for (const word of ${JSON.stringify(words)}) process.send(word)
    ${then}
  `)
  return path
}

const settingsFor = (stateDir: string) => settingsOf(configOf({
  stateDir,
  port: 9_000,
  token: 'a-token-that-nobody-guesses',
  bind: '0.0.0.0',
  allowedOrigins: ['https://a.example', 'https://b.example'],
  originPolicy: 'spec',
  trustProxy: 'loopback',
  frameAncestors: ['https://c.example'],
  metrics: true,
  edge: { ...EDGE_DEFAULTS, allowedHosts: ['desk.example:*'], adminApi: true, authFailLimit: 0 }
}))

t.test('it is started with the settings in its environment, and none on its command line', async t => {
  const dir = t.testdir()
  writeFileSync(join(dir, SUCCESSOR_LOG), 'what the one before said', { mode: 0o600 })
  const successor = new Successor({
    settings: settingsFor(dir),
    script: script(dir, ['ready', 'holding']),
    execArgv: ['--inspect=0', '--no-warnings'],
    env: { PATH: process.env['PATH'], READYROOM_STREAM: 'agent', READYROOM_PORT: '1' }
  })
  t.ok(await successor.isReady(10_000))
  t.ok(await successor.isHolding(10_000))
  successor.release()
  const { args, cwd, env, execArgv } = JSON.parse(readFileSync(join(dir, 'seen.json'), 'utf8'))
  t.same(args, ['serve', '--linger'])
  t.equal(cwd, dir)
  t.same(execArgv, ['--no-warnings'])
  t.same(Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('READYROOM_'))), {
    READYROOM_STATE_DIR: dir,
    READYROOM_PORT: '9000',
    READYROOM_BIND: '0.0.0.0',
    READYROOM_TOKEN: 'a-token-that-nobody-guesses',
    READYROOM_ALLOWED_ORIGINS: 'https://a.example,https://b.example',
    READYROOM_ORIGIN_POLICY: 'spec',
    READYROOM_TRUST_PROXY: 'loopback',
    READYROOM_FRAME_ANCESTORS: 'https://c.example',
    READYROOM_METRICS: 'on',
    ...edgeEnvironment({ ...EDGE_DEFAULTS, allowedHosts: ['desk.example:*'], adminApi: true, authFailLimit: 0 })
  })
  t.equal(readFileSync(join(dir, SUCCESSOR_LOG), 'utf8'), 'started\n')
  t.equal(statSync(join(dir, SUCCESSOR_LOG)).mode & 0o777, 0o600)
})

t.test('one that is not needed, ends early, says nothing or cannot be started is not waited for', async t => {
  const dir = t.testdir()
  const settings = settingsFor(dir)
  const start = performance.now()
  const superfluous = new Successor({ settings, script: script(dir, ['ready', 'superfluous']), execArgv: [] })
  t.ok(await superfluous.isReady(60_000))
  t.notOk(await superfluous.isHolding(60_000))
  superfluous.release()
  const failing = new Successor({ settings, script: script(dir, [], 'process.exit(1)'), execArgv: [] })
  t.notOk(await failing.isReady(60_000))
  t.notOk(await failing.isHolding(60_000))
  failing.release()
  const silent = new Successor({ settings, script: script(dir, []), execArgv: [] })
  t.notOk(await silent.isReady(20))
  silent.release()
  t.throws(() => new Successor({ settings: settingsFor(join(dir, 'missing')), script: 'none', execArgv: [] }))
  t.ok(performance.now() - start < 30_000)
})
