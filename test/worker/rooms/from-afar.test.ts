import t from 'tap'
import { createWorld } from '../../helpers/process'
import { reachable } from '../../helpers/reachable'
import { eventually } from '../../helpers/process'
import { administer, mint } from '../../helpers/worker-rooms'
import { startWorker, TOKEN } from '../../helpers/worker'
import { listenWithRooms } from '../../helpers/rooms'

t.test('the command line mints the first token of a Worker with the owner\'s secret, and ends it', async t => {
  const worker = await startWorker(t)
  const world = await createWorld(t)
  const admin = (...args: string[]) => world.run(['admin', ...args, '--url', worker.origin], { env: { READYROOM_TOKEN: TOKEN } })
  t.match(await admin('init'), { code: 0, stdout: /first room is main/ })
  const minted = await admin('add-token', '--agent', 'ann', '--room', 'main')
  t.match(minted, { code: 0, stdout: /^rr_[\w-]{43}\n$/ })
  const ann = reachable(worker.origin, minted.stdout.trim())
  t.match(await ann.post('/v1/messages', { body: 'here' }), { id: 1 })
  t.match(await admin('list'), { code: 0, stdout: /1 ann +agent; main/ })
  t.match(await admin('export', 'main'), { code: 0, stdout: /"body":"here"/ })
  t.match(await admin('backup', 'copy.db'), { code: 2, stderr: /export a room/ })
  t.match(await admin('revoke', 'ann'), { code: 0, stdout: /number 1/ })
  t.equal((await ann.ask('/v1/messages')).status, 401)
})

t.test('when a token was last used is kept, to the hour', async t => {
  const worker = await startWorker(t)
  const ann = reachable(worker.origin, await mint(worker, 'ann'))
  const used = async (): Promise<string | undefined> => (await administer(worker, 'list', {})).tokens[0]!.last_used_at
  t.equal(await used(), undefined)
  await ann.get('/v1/messages')
  const first = await eventually(used, 'its use to be kept')
  await ann.get('/v1/messages')
  await ann.get('/v1/messages')
  t.equal(await used(), first)
  const registry = await worker.runtime.unsafeGetDurableObjectStorage('readyroom', 'RegistryObject', { name: 'queue' })
  await registry.exec("UPDATE tokens SET last_used_at = '2026-01-01T00:00:00.000Z'")
  await worker.runtime.unsafeEvictDurableObject('readyroom', 'QueueObject', { name: 'queue' })
  await ann.get('/v1/messages')
  await eventually(async () => ((await used()) ?? '') >= first || undefined, 'its use to be kept again')
})

t.test('a secret that is missing, wrong or could be read on the way, and an address that is none, are each said, and no secret is', async t => {
  const worker = await startWorker(t)
  const world = await createWorld(t)
  const list = (url: string, token?: string) => world.run(['admin', 'list', '--url', url], { env: token === undefined ? {} : { READYROOM_TOKEN: token } })
  const wrong = 'the-wrong-secret-0123456789abcdef'
  for (const [result, code, says] of [
    [await list(worker.origin), 2, /READYROOM_TOKEN/],
    [await list(worker.origin, wrong), 1, /not the token/],
    [await list('http://desk.example', wrong), 2, /https:/],
    [await list('desk', wrong), 2, /address/],
    [await list('http://127.0.0.1:9', wrong), 1, /No Ready Room answered/]
  ] as const) {
    t.match(result, { code, stdout: '', stderr: says })
    t.notMatch(result.stderr, wrong)
  }
})

t.test('a server of one\'s own says that it has to be switched on', async t => {
  const { origin } = await listenWithRooms(t, { token: TOKEN })
  const world = await createWorld(t)
  t.match(await world.run(['admin', 'list', '--url', origin], { env: { READYROOM_TOKEN: TOKEN } }), { code: 1, stderr: /READYROOM_ADMIN_API=on/ })
})
