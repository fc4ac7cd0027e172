import t from 'tap'
import { TOKEN_PLACEHOLDER } from '../../lib/room/setup-text'
import type { Posture, SetupText } from '../../schemas/setup'
import { json, refused } from '../contract/http-target'
import { ask } from '../helpers/http'
import { listenWithRooms, type OpenRooms } from '../helpers/rooms'

const TOKEN = 'the-owners-token-of-some-length'
const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } })
const get = ({ origin }: OpenRooms, path: string, token = TOKEN) => ask(origin, `/v1/admin/${path}`, bearer(token) as Parameters<typeof ask>[2])

t.test('the posture tells how it stands, and of a token only that it is set', async t => {
  const room = await listenWithRooms(t, { token: TOKEN, edge: { adminApi: true, publicUrl: 'https://desk.example', allowedHosts: ['127.0.0.1:*'] } })
  const posture = await json<Posture>(get(room, 'posture'))
  t.match(posture, { token_set: true, initialised: false, console_lan_only: true, ui: true, public_url: 'https://desk.example', trust_proxy: 'off', auth_fail_limit: 20 })
  t.notMatch(JSON.stringify(posture), TOKEN)
  await room.mint('otter')
  t.match(await json<Posture>(get(room, 'posture')), { initialised: true })
})

t.test('both are for whoever administers the server alone, and nowhere while it is off', async t => {
  const room = await listenWithRooms(t, { token: TOKEN, edge: { adminApi: true } })
  const agent = await room.mint('otter')
  const admin = await room.mint('beaver', { role: 'admin' })
  for (const path of ['posture', 'setup-text?id=1']) {
    await refused(t, get(room, path, agent), 403, 'FORBIDDEN_SCOPE')
    await refused(t, get(room, path, admin), 403, 'FORBIDDEN_SCOPE')
    await refused(t, get(room, path, 'wrong'), 401, 'UNAUTHORIZED')
  }
  const off = await listenWithRooms(t, { token: TOKEN })
  for (const path of ['posture', 'setup-text?id=1']) await refused(t, get(off, path), 404, 'NOT_FOUND')
})

t.test('the setup text of a token is made from what is known of it, its network address from the one that was asked', async t => {
  const room = await listenWithRooms(t, { token: TOKEN, edge: { adminApi: true } })
  const token = await room.mint('otter', { room: 'lab', also: ['main'] })
  const text = await json<SetupText>(get(room, 'setup-text?id=1'))
  t.strictSame(text.routes.map(({ where, url }) => [where, url]), [['lan', room.origin]])
  t.match(text.brief, /otter.*lab.*main/)
  t.match(text.routes[0]!.mcp_json, TOKEN_PLACEHOLDER)
  const { scripts } = await json<{ scripts: { hook: { sha256: string } } }>(ask(room.origin, '/v1/client', bearer(TOKEN) as Parameters<typeof ask>[2]))
  for (const lines of Object.values(text.routes[0]!.terminal!)) t.match(lines.hook_fetch, scripts.hook.sha256, 'the digest is that of the hook that is handed out')
  t.notMatch(JSON.stringify(text), token, 'no answer of this route holds a token')
  await refused(t, get(room, 'setup-text?id=77'), 400, 'BAD_REQUEST', /no token 77/)
})

t.test('the address of the network and of the world are those that were configured, and pages on them may ask', async t => {
  const edge = { adminApi: true, lanUrl: 'http://desk.lan:8971', publicUrl: 'https://desk.example/ready' }
  const room = await listenWithRooms(t, { token: TOKEN, edge })
  await room.mint('otter')
  const { routes } = await json<SetupText>(get(room, 'setup-text?id=1'))
  t.strictSame(routes.map(({ url }) => url), ['http://desk.lan:8971', 'https://desk.example/ready'])
  const asFrom = (origin: string) => ask(room.origin, '/v1/rooms', { headers: { authorization: `Bearer ${TOKEN}`, origin } })
  t.equal((await asFrom('http://desk.lan:8971')).status, 200)
  t.equal((await asFrom('https://desk.example')).status, 200)
  t.equal((await asFrom('https://desk.example:444')).status, 403)
})
