import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import errors from '../../plugins/errors'
import page, { type PageOptions } from '../../plugins/page'

const HTML = readFileSync(new URL('../../public/index.html', import.meta.url), 'utf8')

async function serve (t: Test, options: PageOptions = {}, prefix = ''): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(page, { ...options, prefix })
  return app
}

function built (t: Test): string {
  const root = t.testdir({ 'index.html': HTML })
  writeFileSync(join(root, 'index.html.br'), brotliCompressSync(HTML))
  writeFileSync(join(root, 'index.html.gz'), gzipSync(HTML))
  return root
}

t.test('the page is served with its policy, and asked about each time', async t => {
  const app = await serve(t)
  const { statusCode, headers, body } = await app.inject('/')
  const hash = (element: string) => `'sha256-${createHash('sha256').update(new RegExp(`<${element}>([^]*?)</${element}>`).exec(HTML)![1]!).digest('base64')}'`
  t.equal(statusCode, 200)
  t.equal(body, HTML)
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    etag: /./
  })
  t.strictSame(String(headers['content-security-policy']).split('; '), [
    "default-src 'none'", `script-src ${hash('script')}`, `style-src ${hash('style')}`, "connect-src 'self'", 'img-src data:',
    "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "frame-ancestors 'self'"
  ])
})

t.test('a page that is replaced while it is served comes with a policy of its own', async t => {
  const root = t.testdir({ 'index.html': HTML })
  const app = await serve(t, { root })
  const policy = async () => String((await app.inject('/')).headers['content-security-policy'])
  const before = await policy()
  writeFileSync(join(root, 'index.html'), HTML.replace('<script>', '<script>\n'))
  const after = await policy()
  t.not(after, before)
  rmSync(join(root, 'index.html'))
  t.equal((await app.inject('/')).statusCode, 404, 'in the middle of a replacement there is none')
  writeFileSync(join(root, 'index.html'), HTML)
  t.equal(await policy(), before)
})

t.test('a page that the browser has already is not sent again', async t => {
  for (const options of [{ root: built(t) }, { html: HTML }]) {
    const app = await serve(t, options)
    const { headers: { etag } } = await app.inject('/')
    const again = await app.inject({ url: '/', headers: { 'if-none-match': String(etag) } })
    t.equal(again.statusCode, 304)
    t.equal(again.body, '')
    t.match(again.headers['content-security-policy'], /default-src 'none'/, 'a stored page is judged by the newest policy')
    t.equal((await app.inject({ url: '/', headers: { 'if-none-match': '"other"' } })).statusCode, 200)
  }
})

t.test('HEAD says what GET would and sends no body', async t => {
  const app = await serve(t, { root: built(t) })
  const { statusCode, headers, body } = await app.inject({ method: 'HEAD', url: '/' })
  t.equal(statusCode, 200)
  t.equal(headers['content-length'], String(Buffer.byteLength(HTML)))
  t.equal(body, '')
})

t.test('a built page is sent as it was compressed', async t => {
  const app = await serve(t, { root: built(t) })
  for (const [accepted, encoding, unpack] of [['gzip, br', 'br', brotliDecompressSync], ['gzip', 'gzip', gunzipSync]] as const) {
    const { headers, rawPayload } = await app.inject({ url: '/', headers: { 'accept-encoding': accepted } })
    t.equal(headers['content-encoding'], encoding)
    t.equal(headers['content-type'], 'text/html; charset=utf-8')
    t.match(headers.vary, /accept-encoding/i)
    t.equal(unpack(rawPayload).toString(), HTML)
  }
  const plain = await app.inject({ url: '/', headers: { 'accept-encoding': 'identity' } })
  t.equal(plain.headers['content-encoding'], undefined)
  t.equal(plain.body, HTML)
})

t.test('what a client asks beside the page is never a failure of the server', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(errors)
  await app.register(page, { root: built(t) })
  for (const range of ['bytes=0-9', 'bytes=99999999-', 'bytes=5-1', 'pages=1', '']) {
    const { statusCode, headers, body } = await app.inject({ url: '/', headers: { range, 'accept-encoding': 'identity' } })
    t.equal(statusCode, 200, range)
    t.equal(headers['accept-ranges'], undefined)
    t.equal(body, HTML)
  }
  for (const condition of ['if-match', 'if-unmodified-since']) {
    const value = condition === 'if-match' ? '"other"' : 'Thu, 01 Jan 1970 00:00:00 GMT'
    const response = await app.inject({ url: '/', headers: { [condition]: value } })
    t.equal(response.statusCode, 400, condition)
    t.match(response.json(), { error: 'BAD_REQUEST', message: /conditions/ })
  }
})

t.test('nothing else of the folder is served', async t => {
  const app = await serve(t, { root: built(t) })
  for (const url of ['/index.html', '/index.html.br', '/..%2fpackage.json']) t.equal((await app.inject(url)).statusCode, 404, url)
})

t.test('below a prefix it answers with and without the final slash', async t => {
  const app = await serve(t, {}, '/ready')
  for (const url of ['/ready', '/ready/']) t.equal((await app.inject(url)).statusCode, 200, url)
  t.equal((await app.inject('/')).statusCode, 404)
})

t.test('two of them live in one application', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(page, { prefix: '/one' })
  await app.register(page, { prefix: '/two', frameAncestors: ['https://desk.example'] })
  t.match((await app.inject('/one/')).headers['content-security-policy'], /frame-ancestors 'self'$/)
  t.match((await app.inject('/two/')).headers['content-security-policy'], /frame-ancestors 'self' https:\/\/desk\.example$/)
})

t.test('what would break out of the policy is refused at registration', async t => {
  for (const source of ['', 'https://a.example; script-src *', 'https://a.example https://b.example', 'https://a.example,https://b.example', 'a\r\nset-cookie: x']) {
    await t.rejects(serve(t, { frameAncestors: [source] }), { message: /^frameAncestors: / })
  }
})

t.test('a folder without the page is an error at start', async t => {
  await t.rejects(serve(t, { root: t.testdir({}) }), { code: 'ENOENT' })
  await t.rejects(serve(t, { html: '<p>half a file' }), /no inline script/)
})

t.test('the hash holds for a file with line ends of Windows', async t => {
  const policy = async (html: string) => (await (await serve(t, { html })).inject('/')).headers['content-security-policy']
  t.equal(await policy(HTML.replaceAll('\n', '\r\n')), await policy(HTML))
})
