import { createHash } from 'node:crypto'
import t from 'tap'
import { HOOK_VERSION, WATCH_VERSION } from '../../client/versions'
import { json, post, refused, type Init } from '../contract/http-target'
import { ask } from '../helpers/http'
import { listenWithRooms } from '../helpers/rooms'

t.test('the hook and the watcher are handed out with their version and digest, to whoever has a token', async t => {
  const { origin, mint } = await listenWithRooms(t)
  const headers = { authorization: `Bearer ${await mint('ann')}` }
  const { server, scripts } = await json<{ server: object, scripts: Record<string, { version: string, sha256: string, url: string }> }>(ask(origin, '/v1/client', { headers }))
  t.match(server, { name: 'readyroom', version: /^\d+\.\d+\.\d+/ })
  for (const [name, version] of [['hook', HOOK_VERSION], ['watch', WATCH_VERSION]] as const) {
    const { url, sha256 } = scripts[name]!
    t.equal(url, `/v1/${name}`)
    const response = await ask(origin, url, { headers })
    const text = await response.text()
    t.match(text, /^#!\/usr\/bin\/env node/)
    t.notMatch(text, /from '\.{1,2}\//, 'one file')
    t.equal(createHash('sha256').update(text).digest('hex'), sha256)
    t.equal(response.headers.get('x-readyroom-sha256'), sha256)
    t.equal(response.headers.get('x-readyroom-version'), version)
    await refused(t, ask(origin, url), 401, 'UNAUTHORIZED')
  }
})

t.test('a hook learns its version where it asks anyway, and nowhere else', async t => {
  const { origin, mint } = await listenWithRooms(t)
  const headers = { authorization: `Bearer ${await mint('ann')}` }
  const version = async (path: string, init: Init): Promise<string | null> => (await ask(origin, path, init)).headers.get('x-readyroom-hook-version')
  t.equal(await version('/v1/unread', { headers }), HOOK_VERSION)
  t.equal(await version('/v1/whats-new', post({}, headers) as Init), HOOK_VERSION)
  t.equal(await version('/v1/agents', { headers }), null)
})

t.test('a change of version is told to each room once, not at the first start, nor at a restart, nor where it is switched off', async t => {
  const { rooms, mint } = await listenWithRooms(t, { version: '1.0.0' })
  await mint('ann', { also: ['lab'] })
  const said = async (room: string): Promise<string[]> => (await rooms.run('readEvents', rooms.system(room), { kind: 'server_upgraded' })).events.map(({ body }) => body!)
  t.strictSame(await said('main'), [], 'nobody is told at the first start')
  const start = (version: string, announce = true) => rooms.run('noteVersion', rooms.system(), { version, announce })
  t.strictSame(await start('1.0.0'), { changed: false })
  t.strictSame(await start('1.1.0'), { changed: true })
  t.strictSame(await start('1.1.0'), { changed: false })
  t.strictSame(await start('1.2.0', false), { changed: true })
  t.strictSame(await start('1.2.0'), { changed: false }, 'what was not told is not news later')
  for (const room of ['main', 'lab']) t.strictSame(await said(room), ['Ready Room is version 1.1.0 now; it was 1.0.0.'])
})
