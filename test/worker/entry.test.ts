import { gzipSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import type { ErrorBody } from '../../schemas/error'
import { ask } from '../helpers/http'
import { ROOT } from '../helpers/room'
import { buildWorker, startWorker, TOKEN } from '../helpers/worker'
import { enqueue, request } from '../helpers/worker-client'

const GUARDED: Array<[string, string]> = [
  ['GET', '/api/tickets'], ['GET', '/api/tickets/some'], ['GET', '/api/history'], ['GET', '/api/audit'], ['GET', '/api/events'],
  ['POST', '/api/answer'], ['POST', '/api/undo'], ['POST', '/mcp'], ['POST', '/mcp/agent'],
  ['GET', '/v1/messages'], ['POST', '/v1/messages'], ['GET', '/v1/stream'], ['POST', '/v1/admin/list']
]

t.test('until the secret is set nobody may act, and every refusal says how to set it', async t => {
  for (const READYROOM_TOKEN of [undefined, '', '  ']) {
    const worker = await startWorker(t, { env: { READYROOM_TOKEN } as { READYROOM_TOKEN?: string } })
    for (const [method, path] of GUARDED) {
      for (const authorization of [undefined, 'Bearer', 'Bearer undefined', `Bearer ${TOKEN}`]) {
        const response = await ask(worker.origin, path, { method, headers: { origin: worker.origin, ...(authorization && { authorization }) } })
        t.equal(response.status, 401, `${method} ${path} ${authorization}`)
        t.match(await response.json() as ErrorBody, { error: 'UNAUTHORIZED', message: /wrangler secret put READYROOM_TOKEN/ })
      }
    }
    for (const path of ['/', '/healthz']) t.equal((await ask(worker.origin, path)).status, 200)
    await worker.close()
  }
})

t.test('junk wakes no object: only a request that may act reaches it', async t => {
  const worker = await startWorker(t)
  const authorization = `Bearer ${TOKEN}`
  const junk: Array<[string, string, Record<string, string>]> = [
    ...GUARDED.map(([method, path]): [string, string, Record<string, string>] => [method, path, { origin: worker.origin }]),
    ...GUARDED.map(([method, path]): [string, string, Record<string, string>] => [method, path, { origin: worker.origin, authorization: 'Bearer wrong' }]),
    ...GUARDED.map(([method, path]): [string, string, Record<string, string>] => [method, path, { origin: 'https://evil.example', authorization }]),
    ['GET', '/', {}], ['GET', '/healthz', {}], ['GET', '/wp-login.php', {}], ['GET', '/api/nope', { authorization }], ['GET', '/%zz', {}],
    ['DELETE', '/api/tickets', { authorization }], ['GET', '/mcp/agent', { authorization, origin: worker.origin }],
    ['GET', '/api/events', { authorization }]
  ]
  for (const [method, path, headers] of junk) await ask(worker.origin, path, { method, headers })
  t.strictSame(await worker.runtime.listDurableObjectIds('QUEUE'), [])
  await enqueue(worker)
  t.equal((await worker.runtime.listDurableObjectIds('QUEUE')).length, 1)
})

t.test('over plain HTTP only a loopback name or a listed origin is answered, on every route and before anything else', async t => {
  const worker = await startWorker(t, { env: { READYROOM_ALLOWED_ORIGINS: 'http://board.local:8080' } })
  const authorization = `Bearer ${TOKEN}`
  for (const host of ['evil.example', 'evil.example:8787', '127.0.0.1.evil.example', 'board.local', 'desk.example:443', '192.168.1.2:8787']) {
    for (const [method, path] of [...GUARDED, ['GET', '/'], ['GET', '/healthz'], ['GET', '/nope'], ['GET', '/%zz']] as Array<[string, string]>) {
      const response = await ask(worker.origin, path, { method, headers: { host, origin: `http://${host}`, authorization } })
      t.equal(response.status, 421, `${host} ${method} ${path}`)
      t.match(await response.json() as ErrorBody, { error: 'FORBIDDEN_HOST', message: /Use https:/ })
    }
  }
  for (const host of ['localhost:1', '127.0.0.1', '[::1]:8787', 'agents.localhost:8787', 'board.local:8080']) {
    t.equal((await ask(worker.origin, '/api/tickets', { headers: { host, origin: `http://${host}`, authorization } })).status, 200, host)
  }
})

t.test('over TLS the name is the one that was routed here', async t => {
  const worker = await startWorker(t)
  const get = (path: string, headers: Record<string, string>): Promise<{ status: number }> =>
    worker.runtime.dispatchFetch(`https://room.example${path}`, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } })
  t.equal((await get('/', {})).status, 200)
  t.equal((await get('/api/tickets', { origin: 'https://room.example' })).status, 200)
  t.equal((await get('/api/tickets', { origin: 'http://room.example' })).status, 403)
  t.equal((await get('/api/tickets', { origin: worker.origin })).status, 403)
})

t.test('a setting that cannot be used closes every door, and tells a caller nothing of it', async t => {
  const table: Array<Record<string, string>> = [
    { READYROOM_ORIGIN_POLICY: 'loose' }, { READYROOM_ALLOWED_ORIGINS: 'desk.example' }, { READYROOM_FRAME_ANCESTORS: '*' },
    { READYROOM_TOKEN: 'two words' }, { READYROOM_QUEUE: 'x'.repeat(101) }
  ]
  for (const env of table) {
    const worker = await startWorker(t, { env })
    for (const path of ['/', '/healthz', '/api/tickets', '/mcp']) {
      const response = await request(worker, path)
      t.equal(response.status, 503, `${JSON.stringify(env)} ${path}`)
      t.notMatch(await response.text(), /loose|desk\.example|two words/)
    }
    await worker.close()
  }
})

t.test('events are 501 in a few plain words, behind the guards', async t => {
  const worker = await startWorker(t)
  const response = await request(worker, '/api/events')
  t.equal(response.status, 501)
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.match(await response.text(), /poll GET \/api\/tickets/)
  t.equal((await request(worker, '/api/events?since=1')).status, 400)
})

t.test('the page is the one of every target, under a policy of its own, and not sent twice', async t => {
  const worker = await startWorker(t, { env: { READYROOM_FRAME_ANCESTORS: 'https://desk.example' } })
  const html = await readFile(`${ROOT}public/index.html`, 'utf8')
  const response = await ask(worker.origin, '/')
  t.equal(await response.text(), html)
  const hash = (element: string): string => createHash('sha256').update(new RegExp(`<${element}>([^]*?)</${element}>`).exec(html)![1]!).digest('base64')
  const policy = response.headers.get('content-security-policy')!
  for (const source of [`script-src 'sha256-${hash('script')}'`, `style-src 'sha256-${hash('style')}'`, "frame-ancestors 'self' https://desk.example"]) {
    t.ok(policy.split('; ').includes(source), source)
  }
  const etag = response.headers.get('etag')!
  for (const given of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await ask(worker.origin, '/', { headers: { 'if-none-match': given } })
    t.equal(again.status, 304, given)
    t.equal(again.headers.get('content-security-policy'), policy)
  }
  t.equal((await ask(worker.origin, '/', { headers: { 'if-none-match': '"other"' } })).status, 200)
})

t.test('wrong tokens are counted by the address that the network tells', async t => {
  const worker = await startWorker(t)
  const guess = async (address: string): Promise<number> =>
    (await ask(worker.origin, '/api/tickets', { headers: { authorization: 'Bearer guess', 'cf-connecting-ip': address } })).status
  for (let n = 0; n < 20; n++) t.equal(await guess(`2001:db8::${n}`), 401)
  t.equal(await guess('2001:db8::ffff'), 429, 'one network')
  t.equal(await guess('2001:db8:0:1::1'), 401, 'another')
  t.equal((await request(worker, '/api/tickets', { headers: { 'cf-connecting-ip': '2001:db8::ffff' } })).status, 200, 'the right one is never throttled')
})

t.test('what is uploaded is under a mebibyte and a half, far less when packed, and makes no code from text', async t => {
  const modules = await buildWorker()
  const bytes = modules.reduce((sum, { contents }) => sum + Buffer.byteLength(contents), 0)
  const packed = gzipSync(modules.map(({ contents }) => contents).join('')).length
  t.ok(bytes < 1_572_864, `${(bytes / 1_024).toFixed(0)} KiB`)
  // The free plan takes three mebibytes of it, packed.
  t.ok(packed < 400_000, `${(packed / 1_024).toFixed(0)} KiB packed`)
  for (const { path, contents } of modules) t.notMatch(contents, /\bnew Function\b|\beval\(/, path)
})
