import { once } from 'node:events'
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { examine } from '../../../../lib/node/doctor/doctor'
import type { Scene } from '../../../../lib/node/doctor/scene'
import { listen } from '../../../helpers/build'
import { freePort } from '../../../helpers/process'
import { complaints, healthy } from '../../../helpers/scene'

const TOKEN = 'a-token-that-nobody-may-ever-see'

interface Habits {
  prefix?: string
  /** What it makes of what a caller sends. */
  ask?: (headers: IncomingHttpHeaders) => IncomingHttpHeaders
  /** What it makes of what comes back; undefined holds it back for good. */
  answer?: (headers: IncomingHttpHeaders, path: string) => IncomingHttpHeaders | undefined
}

/** A reverse proxy with one bad habit. */
async function proxy (t: Test, upstream: number, { prefix = '', ask = h => h, answer = h => h }: Habits = {}): Promise<string> {
  const server = createServer((req, res) => {
    if (!req.url!.startsWith(`${prefix}/`)) return res.writeHead(404).end()
    const path = req.url!.slice(prefix.length)
    const up = request({ port: upstream, host: '127.0.0.1', method: req.method, path, headers: ask(req.headers) }, from => {
      const headers = answer(from.headers, path)
      if (headers === undefined) return
      res.writeHead(from.statusCode!, headers)
      from.pipe(res)
    })
    up.on('error', () => res.destroy())
    res.on('close', () => up.destroy())
    req.pipe(up)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`
}

const outside = async (scene: Scene, url: string): Promise<string[]> => (await complaints({ ...scene, url })).filter(line => /^\w+ url-/.test(line))

/** A Ready Room with a token behind a proxy whose origin it knows. */
async function behind (t: Test, habits: Habits = {}) {
  const { scene } = await healthy(t, { READYROOM_TOKEN: TOKEN })
  const allowedOrigins: string[] = []
  const { port } = await listen(t, { token: TOKEN, allowedOrigins })
  const url = await proxy(t, port, habits)
  allowedOrigins.push(new URL(url).origin)
  return { scene, url, allowedOrigins }
}

t.test('a Ready Room that is reached as it should be is well: directly, by a proxy, below a path', async t => {
  const { scene } = await healthy(t)
  const { origin } = await listen(t)
  t.strictSame(await outside(scene, origin), [])
  const guarded = await behind(t)
  t.strictSame(await outside(guarded.scene, guarded.url), [])
  const below = await behind(t, { prefix: '/ready' })
  t.match(await outside(below.scene, below.url), [/^warn url-page: .*\/ready, without the slash, answers 404\. -> Let the proxy send it on/])
  const report = JSON.stringify(await examine({ ...guarded.scene, url: guarded.url }))
  t.notMatch(report, TOKEN)
  for (const id of ['url-reach', 'url-page', 'url-token', 'url-events', 'url-origin', 'url-clock']) t.match(report, `"id":"${id}","status":"ok"`)
})

t.test('nobody, and somebody else, at the address fail', async t => {
  const { scene } = await healthy(t)
  t.match(await outside(scene, `http://127.0.0.1:${await freePort()}`), [/^fail url-reach: .*nobody listens there\. -> readyroom serve$/])
  const { url } = await behind(t)
  t.match(await outside(scene, `${url}/below`), [/^fail url-reach: .*below\/healthz answers 404, and not as a Ready Room does\. -> Correct the path/])
  t.match(await outside(scene, url.replace('http:', 'https:')), [/^fail url-reach: .*TLS.* -> Give the proxy a certificate/])
})

t.test('a name that is not listed fails where no token guards, with the line that lists it', async t => {
  const { scene } = await healthy(t)
  const { port } = await listen(t)
  const url = await proxy(t, port)
  t.match(await outside(scene, url), [`fail url-reach: Ready Room does not know ${url} as its own, and refuses whoever asks for it by that name. -> READYROOM_ALLOWED_ORIGINS=${url}`])
})

t.test('a proxy that holds events back fails', async t => {
  const { scene, url } = await behind(t, { answer: (headers, path) => path === '/api/events' ? undefined : headers })
  t.match(await outside({ ...scene, httpMs: 300 }, url), [/^fail url-events: News does not reach the page: no answer within 0\.3 s\. A proxy holds it back\. -> .*proxy_buffering off/])
})

t.test('a proxy that compresses events is warned about', async t => {
  const { scene, url } = await behind(t, { answer: (headers, path) => path === '/api/events' ? { ...headers, 'content-encoding': 'gzip' } : headers })
  t.match(await outside(scene, url), [/^warn url-events: Events come compressed/])
})

t.test('a proxy whose origin is not listed fails, with the line that lists it', async t => {
  const { scene, url, allowedOrigins } = await behind(t)
  allowedOrigins.length = 0
  t.match(await outside(scene, url), [`fail url-origin: Ready Room does not know ${url} as its own, so that clients and the page are refused. -> READYROOM_ALLOWED_ORIGINS=${url}`])
})

t.test('a proxy that puts its own Origin in, or takes the token or the policy of the page away, fails', async t => {
  const forged = await behind(t)
  const replaced = await behind(t, { ask: headers => ({ ...headers, ...(headers.origin !== undefined && { origin: new URL(forged.url).origin }) }) })
  replaced.allowedOrigins.push(new URL(forged.url).origin)
  t.match(await outside(replaced.scene, replaced.url), [/^fail url-origin: A call with a foreign Origin is answered 200 instead of 403/])
  const bare = await behind(t, { ask: ({ authorization, ...headers }) => headers })
  t.match(await outside(bare.scene, bare.url), [/^fail url-token: .*does not take the token/, /^fail url-events: api\/events answers 401/, /^fail url-origin: .*answers 401/])
  const lax = await behind(t, { answer: ({ 'content-security-policy': _, ...headers }) => headers })
  t.match(await outside(lax.scene, lax.url), [/^fail url-page: .*without its Content-Security-Policy/])
})

t.test('a proxy that makes every Host its own lets a rebound name through, which fails where no token guards', async t => {
  const { scene } = await healthy(t)
  const { port } = await listen(t)
  const own = `127.0.0.1:${port}`
  const isForeign = (text: string | undefined): boolean => text?.includes('elsewhere') === true
  const naming = (host: (sent: string) => string) => proxy(t, port, {
    ask: headers => ({ ...headers, host: host(headers.host!), ...(headers.origin !== undefined && !isForeign(headers.origin) && { origin: `http://${own}` }) })
  })
  t.strictSame(await outside(scene, await naming(sent => isForeign(sent) ? sent : own)), [])
  const url = await naming(() => own)
  t.match(await outside(scene, url), [/^fail url-host: A call by a foreign name is answered/])
})

t.test('a token that is not the one, or not there, is said', async t => {
  const { url } = await behind(t)
  const without = await healthy(t)
  t.match((await outside(without.scene, url))[0], /^warn url-token: .*asks for a token \(401\), and there is none here/)
  const wrong = await healthy(t, { READYROOM_TOKEN: 'another-token-nobody-may-see' })
  t.match((await outside(wrong.scene, url))[0], /^fail url-token: .*does not take the token that is set here\. -> Set READYROOM_TOKEN to the same/)
})

t.test('a clock that is far from the other one is warned about', async t => {
  const { scene, url } = await behind(t, { answer: headers => ({ ...headers, date: new Date(Date.now() + 120_000).toUTCString() }) })
  t.match(await outside(scene, url), [/^warn url-clock: Its clock is 1(?:19|20) s ahead of the one here/])
})
