import { chownSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDaemonFile } from '../../lib/node/daemon-file'
import { createWorld, freePort } from '../helpers/process'
import { statusOf } from '../helpers/singleton'
import { squat } from '../helpers/squatter'

t.test('what stands in the way at start is named, with exit code 1 and nothing on standard output', async t => {
  const TOKEN = 'a-token-that-nobody-guesses'
  const world = await createWorld(t)
  await (world.start(['serve'], { env: { READYROOM_TOKEN: TOKEN } })).opened()

  const other = await freePort()
  const refusals: Array<[args: string[], env: Record<string, string>, message: RegExp]> = [
    [['serve'], { READYROOM_TOKEN: `${TOKEN}-not` }, /READYROOM_TOKEN is set here.*has another one.*readyroom stop/],
    [['serve'], { READYROOM_BIND: '127.0.0.2' }, /READYROOM_BIND is 127\.0\.0\.2 here.*bound to 127\.0\.0\.1/],
    [['serve', '--port', String(other)], {}, new RegExp(`state folder ${world.stateDir} is held by a Ready Room on port ${world.port}; here the port is ${other}`)],
    [['serve'], { READYROOM_STATE_DIR: join(world.home, 'elsewhere') }, new RegExp(`Port ${world.port}.*READYROOM_STATE_DIR`)],
    [[], { READYROOM_BIND: '127.0.0.2' }, /READYROOM_BIND is 127\.0\.0\.2 here/]
  ]
  for (const [args, env, message] of refusals) {
    const { code, stdout, stderr } = await world.run(args, { env })
    t.equal(code, 1, `${args.join(' ')} ${Object.keys(env).join(' ')}`)
    t.equal(stdout, '')
    t.match(stderr, message)
    t.notMatch(stderr, TOKEN)
  }
})

t.test('a stranger on the port, though it fakes the health header and daemon.json leads to it', async t => {
  const world = await createWorld(t)
  const first = world.start(['serve'])
  await first.opened()
  const { instance, secret } = readDaemonFile(world.stateDir)!
  first.kill('SIGKILL')
  await first.finished
  const { heard } = await squat(t, world.port, () => ({ headers: { 'x-readyroom': `9.9.9; instance=${instance}` }, body: 'ok' }))
  for (const args of [['serve'], []]) {
    const { code, stdout, stderr } = await world.run(args)
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, new RegExp(`Port ${world.port} is held by something that is not this Ready Room.*READYROOM_PORT`))
  }
  t.same(await statusOf(world), { running: false })
  t.notMatch(JSON.stringify(heard), secret)
})

// Only root can start one as somebody else.
if (process.getuid?.() === 0) {
  t.test('another user\'s Ready Room on the port', async t => {
    const theirs = await createWorld(t)
    await theirs.start(['serve']).opened()
    const ours = await createWorld(t, { port: theirs.port })
    chownSync(ours.home, 65_534, 65_534)
    const { code, stdout, stderr } = await ours.run(['serve'], { cwd: '.', uid: 65_534, gid: 65_534 })
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, new RegExp(`Port ${theirs.port} is held by another user's Ready Room.*READYROOM_PORT`))
  })
}
