import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import type { SettingsEnv } from '../../worker/settings'
import type { Posture, SetupText } from '../../schemas/setup'
import { json, refused } from '../contract/http-target'
import { listenWithRooms } from '../helpers/rooms'
import { ask } from '../helpers/http'
import { ROOT } from '../helpers/room'
import { startWorker, TOKEN, type RunningWorker } from '../helpers/worker'
import { request } from '../helpers/worker-client'
import { administer, mint } from '../helpers/worker-rooms'
import { VERSION } from '../../lib/node/version'

const OPEN: SettingsEnv = { READYROOM_CONSOLE_LAN_ONLY: 'off' }
const PATHS = ['/ui', '/ui/', '/admin', '/admin/']

const statuses = (worker: RunningWorker): Promise<number[]> => Promise.all(PATHS.map(async path => (await ask(worker.origin, path)).status))

t.test('the pages of the room and of the administration are there only where the gate was switched off, and each by its setting', async t => {
  const table: Array<[SettingsEnv, number[]]> = [
    [{}, [404, 404, 404, 404]],
    [{ READYROOM_CONSOLE_LAN_ONLY: 'on' }, [404, 404, 404, 404]],
    [OPEN, [200, 200, 200, 200]],
    [{ ...OPEN, READYROOM_ENABLE_UI: 'off' }, [404, 404, 200, 200]]
  ]
  for (const [env, expected] of table) {
    const worker = await startWorker(t, { env })
    t.strictSame(await statuses(worker), expected, JSON.stringify(env))
    await refused(t, ask(worker.origin, '/ui//'), 404, 'NOT_FOUND')
    if (env === OPEN) {
      await refused(t, ask(worker.origin, '/admin', { method: 'POST' }), 405, 'METHOD_NOT_ALLOWED')
      t.strictSame(await worker.runtime.listDurableObjectIds('QUEUE'), [], 'a page wakes no object')
    }
    await worker.close()
  }
  const without = await startWorker(t, { env: OPEN, rooms: false })
  t.strictSame(await statuses(without), [404, 404, 404, 404], 'without rooms there is nothing to show')
})

t.test('they are the pages of every target, under the same policy and headers, and not sent twice', async t => {
  const [worker, node] = [await startWorker(t, { env: { ...OPEN, READYROOM_FRAME_ANCESTORS: 'https://desk.example' } }),
    await listenWithRooms(t, { token: TOKEN, edge: { adminApi: true }, frameAncestors: ['https://desk.example'] })]
  for (const [path, file] of [['/ui', 'ui.html'], ['/admin', 'admin.html']] as const) {
    const [here, there] = [await ask(worker.origin, path), await ask(node.origin, path)]
    const html = await readFile(`${ROOT}public/${file}`, 'utf8')
    t.equal(await here.text(), html)
    const script = createHash('sha256').update(/<script>([^]*?)<\/script>/.exec(html)![1]!).digest('base64')
    t.match(here.headers.get('content-security-policy'), `script-src 'sha256-${script}'`)
    for (const name of ['content-security-policy', 'x-content-type-options', 'referrer-policy', 'cache-control', 'content-type', 'x-frame-options']) {
      t.equal(here.headers.get(name), there.headers.get(name), `${path} ${name}`)
    }
    const again = await ask(worker.origin, path, { headers: { 'if-none-match': here.headers.get('etag')! } })
    t.equal(again.status, 304)
  }
})

t.test('the posture is that of a Worker, for whoever administers, and shows no secret', async t => {
  const worker = await startWorker(t, { env: { ...OPEN, READYROOM_PUBLIC_URL: 'https://desk.example' } })
  const posture = await json<Posture>(request(worker, '/v1/admin/posture'))
  t.strictSame(posture, {
    version: VERSION,
    worker: true,
    token_set: true,
    initialised: false,
    admin_api: false,
    ui: true,
    console_lan_only: false,
    host_check: true,
    allowed_hosts: [],
    public_hosts: [],
    allowed_origins: [],
    origin_policy: 'strict',
    trust_proxy: 'off',
    public_url: 'https://desk.example',
    auth_fail_limit: 20,
    auth_fail_window_s: 300
  })
  t.notMatch(JSON.stringify(posture), TOKEN)
  const headers = { authorization: `Bearer ${await mint(worker, 'root', { role: 'admin', all_rooms: true })}` }
  for (const path of ['posture', 'setup-text?id=1']) {
    await refused(t, ask(worker.origin, `/v1/admin/${path}`), 401, 'UNAUTHORIZED')
    await refused(t, ask(worker.origin, `/v1/admin/${path}`, { headers }), 403, 'FORBIDDEN_SCOPE', /READYROOM_ADMIN_API/)
  }
  await refused(t, request(worker, '/v1/admin/posture?x=1'), 400, 'BAD_REQUEST')
})

t.test('the setup text of a Worker is for one address, the configured one or that which it was asked under, and holds no token', async t => {
  const worker = await startWorker(t, { env: { ...OPEN, READYROOM_ADMIN_API: 'on' } })
  const root = await mint(worker, 'root', { role: 'admin', all_rooms: true })
  const token = await mint(worker, 'otter', { also: ['lab'] })
  await mint(worker, 'lea', { role: 'approver' })
  const { tokens } = await administer(worker, 'list', {})
  const idOf = (agent: string): number => tokens.find(known => known.agent === agent)!.id
  const text = await json<SetupText>(ask(worker.origin, `/v1/admin/setup-text?id=${idOf('otter')}`, { headers: { authorization: `Bearer ${root}` } }))
  t.notMatch(JSON.stringify(text), token)
  t.match(text, { placeholder: 'rr_TOKEN', brief: /lab/, routes: [{ where: 'remote', url: worker.origin, page: `${worker.origin}/ui` }] })
  t.equal(text.routes.length, 1)
  const { mcpServers: { readyroom } } = JSON.parse(text.routes[0]!.mcp_json!) as { mcpServers: { readyroom: object } }
  t.strictSame(readyroom, { type: 'http', url: `${worker.origin}/mcp`, headers: { Authorization: 'Bearer rr_TOKEN', Origin: worker.origin } })
  const person = await json<SetupText>(request(worker, `/v1/admin/setup-text?id=${idOf('lea')}`))
  t.strictSame(person.routes, [{ where: 'remote', url: worker.origin, page: `${worker.origin}/` }])
  await refused(t, request(worker, '/v1/admin/setup-text?id=999'), 400, 'BAD_REQUEST', /no token 999/)
  await worker.close()

  const named = await startWorker(t, { env: { READYROOM_PUBLIC_URL: 'https://desk.example/' } })
  await mint(named, 'otter')
  const { routes } = await json<SetupText>(request(named, '/v1/admin/setup-text?id=1'))
  t.match(routes, [{ url: 'https://desk.example', mcp_json: /"Origin": "https:\/\/desk\.example"/, hook_settings: /"READYROOM_URL": "https:\/\/desk\.example"/ }])
})
