import t, { type Test } from 'tap'
import { SqliteRoomStore } from '../../lib/node/room/sqlite-room-store'
import type { Edge } from '../../lib/node/edge-settings'
import { RoomDesk } from '../../lib/room/desk'
import { build } from '../helpers/build'

const TOKEN = 'the-owners-token-of-some-length'

async function open (t: Test, { trustProxy = false, ...edge }: Partial<Edge> & { trustProxy?: boolean | string } = {}) {
  const rooms = new RoomDesk({ store: new SqliteRoomStore(`${t.testdir()}/room.db`) })
  const app = await build(t, { rooms, token: TOKEN, trustProxy, edge: { adminApi: true, ...edge } })
  return async (url: string, headers: Record<string, string> = {}, remoteAddress = '127.0.0.1', method: 'GET' | 'POST' | 'HEAD' = 'GET'): Promise<number> =>
    (await app.inject({ method, url, remoteAddress, headers: { host: '127.0.0.1:8971', ...headers } })).statusCode
}

t.test('both pages are there for this machine and the network around it, with their policy', async t => {
  const get = await open(t)
  for (const path of ['/ui', '/ui/', '/admin', '/admin/']) {
    t.equal(await get(path), 200, path)
    t.equal(await get(path, { host: '192.168.1.5:8971' }, '192.168.1.9'), 200, path)
    t.equal(await get(path, {}, '127.0.0.1', 'HEAD'), 200, path)
    t.equal(await get(path, {}, '127.0.0.1', 'POST'), 405, path)
  }
})

t.test('from outside, by a public name or through a proxy there is nothing, whatever the method; the heads-up page stays', async t => {
  const get = await open(t, { publicUrl: 'https://desk.lan', publicHosts: ['board'] })
  const OUTSIDE: Array<[headers: Record<string, string>, address?: string]> = [
    [{}, '203.0.113.9'], [{ host: 'desk.example' }], [{ host: 'desk.lan' }], [{ host: 'board:8971' }],
    [{ 'x-forwarded-for': '192.168.1.4' }], [{ forwarded: 'for=10.0.0.1' }], [{ via: '1.1 cache' }], [{ 'cf-ray': '1' }], [{ 'x-forwarded-host': 'localhost' }]
  ]
  for (const [headers, address] of OUTSIDE) {
    for (const path of ['/ui', '/admin/']) {
      for (const method of ['GET', 'HEAD', 'POST'] as const) t.equal(await get(path, headers, address, method), 404, `${method} ${path} ${JSON.stringify(headers)} ${address}`)
    }
    t.equal(await get('/', headers, address), 200)
  }
})

t.test('a trusted proxy of the network may speak for somebody of the network, and for nobody else', async t => {
  const get = await open(t, { trustProxy: '192.168.1.2' })
  const proxy = '192.168.1.2'
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', via: '1.1 caddy' }, proxy), 200)
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '203.0.113.5' }, proxy), 404, 'somebody outside')
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', 'x-forwarded-host': 'desk.example' }, proxy), 404, 'a public name before it')
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50' }, '192.168.1.3'), 404, 'another machine that claims it')
  t.equal(await get('/ui', { host: 'desk.local', via: '1.1 caddy' }, proxy), 404, 'it does not say for whom')
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '203.0.113.5, 192.168.1.50' }, proxy), 404, 'a machine of the network that speaks for somebody outside')
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', 'x-real-ip': '203.0.113.5' }, proxy), 404)
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', 'x-forwarded-host': 'desk.example, desk.local' }, proxy), 404, 'a public name before the one before it')
  t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', 'x-forwarded-host': 'desk.local', 'x-real-ip': '192.168.1.50', 'x-forwarded-proto': 'https' }, proxy), 200)
  for (const [forwarded, status] of [['for=192.168.1.50;host=desk.local', 200], ['for="[fd00::5]:80", for=10.0.0.7:1', 200], ['for=203.0.113.5, for=192.168.1.50', 404], ['For="[2001:db8::1]"', 404], ['for=unknown', 404], ['for=10.0.0.1;Host="desk.example"', 404]] as const) {
    t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', forwarded }, proxy), status, forwarded)
  }
  for (const passedOn of ['cf-connecting-ip', 'cf-ray', 'cdn-loop', 'true-client-ip']) {
    t.equal(await get('/ui', { host: 'desk.local', 'x-forwarded-for': '192.168.1.50', [passedOn]: 'cloudflare' }, proxy), 404, `${passedOn} came from further away`)
  }
  const careless = await open(t, { trustProxy: true })
  t.equal(await careless('/ui', { host: 'desk.local', 'x-forwarded-for': '10.0.0.1, 203.0.113.5' }, proxy), 404, 'an address on the way is public')
})

t.test('off, the gate lets everybody see the pages; without the page, or the administration, there is none', async t => {
  const wide = await open(t, { consoleLanOnly: false })
  t.equal(await wide('/ui', { host: 'desk.example', 'cf-ray': '1' }, '203.0.113.9'), 200)
  t.equal(await wide('/admin', { host: 'desk.example', 'cf-ray': '1' }, '203.0.113.9'), 200)
  const narrow = await open(t, { enableUi: false, adminApi: false })
  t.equal(await narrow('/ui'), 404)
  t.equal(await narrow('/admin'), 404)
  t.equal(await narrow('/'), 200)
})
