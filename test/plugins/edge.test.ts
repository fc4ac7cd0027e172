import t from 'tap'
import { refused } from '../contract/http-target'
import { listen, PORT } from '../helpers/build'
import { ask } from '../helpers/http'
import { listenWithRooms } from '../helpers/rooms'

const TOKEN = 'a-token-of-some-length-here'
const headers = { authorization: `Bearer ${TOKEN}` }

t.test('allowed hosts lead here, with any port where they say so; with a token, too, nothing else but the loopback does', async t => {
  for (const token of [undefined, TOKEN]) {
    const { origin, port } = await listen(t, { token, port: 0, edge: { allowedHosts: ['desk.lan:*', 'desk.example', '192.168.1.5:8971'], publicHosts: ['desk.public'] } })
    const status = async (host: string): Promise<number> => (await ask(origin, '/api/tickets', { headers: { ...headers, host } })).status
    for (const host of [`127.0.0.1:${port}`, 'desk.lan', 'desk.lan:9000', 'DESK.lan:1', 'desk.example', 'desk.example:80', '192.168.1.5:8971', 'desk.public']) t.equal(await status(host), 200, host)
    for (const host of ['evil.example', 'desk.example:8080', '192.168.1.5', 'desk.lan.evil.example', 'xdesk.lan', 'desk.lan:x']) t.equal(await status(host), 421, host)
    for (const path of ['/', '/healthz', '/mcp', '/v1/messages']) t.equal((await ask(origin, path, { headers: { host: 'evil.example' } })).status, 421, path)
  }
})

t.test('with a token and no list, any name leads here: the token is what guards', async t => {
  const { origin } = await listen(t, { token: TOKEN, port: 0 })
  t.equal((await ask(origin, '/api/tickets', { headers: { ...headers, host: 'anything.example' } })).status, 200)
})

t.test('whoever fronts it can leave the check of the Host to what stands in front', async t => {
  const { origin } = await listen(t, { token: TOKEN, port: 0, edge: { allowedHosts: ['desk.example'], dnsRebindProtection: false } })
  t.equal((await ask(origin, '/api/tickets', { headers: { ...headers, host: 'evil.example' } })).status, 200)
})

t.test('the limit of wrong tokens and its window are what was set; a right token is never throttled', async t => {
  const { origin } = await listen(t, { token: TOKEN, port: PORT, edge: { authFailLimit: 3, authFailWindow: 7 } })
  const wrong = (): Promise<Response> => ask(origin, '/api/tickets', { headers: { authorization: 'Bearer wrong' } })
  for (let n = 0; n < 3; n++) await refused(t, wrong(), 401, 'UNAUTHORIZED')
  const late = await refused(t, wrong(), 429, 'TOO_MANY_REQUESTS')
  t.ok(Number(late.headers.get('retry-after')) <= 7)
  t.equal((await ask(origin, '/api/tickets', { headers })).status, 200)
})

t.test('a limit of 0 counts nobody', async t => {
  const { origin } = await listen(t, { token: TOKEN, port: 0, edge: { authFailLimit: 0 } })
  for (let n = 0; n < 30; n++) t.equal((await ask(origin, '/api/tickets', { headers: { authorization: 'Bearer wrong' } })).status, 401)
})

t.test('a minted token that is wrong is counted, and one that is right is not', async t => {
  const { origin, mint } = await listenWithRooms(t, { edge: { authFailLimit: 2 } })
  const ann = await mint('ann')
  const get = (token: string): Promise<Response> => ask(origin, '/v1/messages', { headers: { authorization: `Bearer ${token}` } })
  for (let n = 0; n < 5; n++) t.equal((await get(ann)).status, 200)
  t.strictSame([(await get('rr_x')).status, (await get('rr_y')).status, (await get('rr_z')).status], [401, 401, 429])
  t.equal((await get(ann)).status, 200)
})
