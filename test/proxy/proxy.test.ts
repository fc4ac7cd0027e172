import t, { type Test } from 'tap'
import type { Ticket } from '../../schemas/ticket'
import { card, launchBrowser, openPage, recent } from '../helpers/browser'
import { createWorld, eventually, freePort, type World } from '../helpers/process'
import { caddy, isThere, nginx, type Proxy, type StartProxy } from '../helpers/proxy'

const TOKEN = 'the-token-behind-the-proxy'

const proxies: Record<string, StartProxy> = { nginx: nginx(0) }
if (isThere('caddy', 'version')) proxies['caddy'] = caddy
else t.comment('caddy is not on the PATH; nginx alone is tried')

const browser = await launchBrowser(t)

/** Ready Room as the page says to set it up, and the proxy before it. */
async function setUp (t: Test, start: StartProxy): Promise<Proxy & { prefix: string, direct: string, world: World }> {
  const port = await freePort()
  const world = await createWorld(t, { port })
  const proxy = await start(t, { upstream: port, token: TOKEN })
  const daemon = world.start(['serve'], {
    env: { READYROOM_TOKEN: TOKEN, READYROOM_ALLOWED_ORIGINS: proxy.origin, READYROOM_TRUST_PROXY: 'loopback' }
  })
  await daemon.opened()
  return { ...proxy, prefix: `${proxy.origin}/ready`, direct: world.url, world }
}

async function call<T> (prefix: string, path: string, body: object, headers: Record<string, string> = {}): Promise<{ status: number, body: T }> {
  const response = await fetch(`${prefix}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: `Bearer ${TOKEN}`, origin: new URL(prefix).origin, ...headers
    },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1] ?? 'null') }
}

const tool = (name: string, args: object): object => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })

async function ask (prefix: string, question: string, stream = 'my-project', headers: Record<string, string> = {}): Promise<string> {
  const asked = tool('ask_human', { question, options: ['yes', 'no'] })
  const { status, body } = await call<{ result: { structuredContent: { id: string } } }>(prefix, `/mcp/${stream}`, asked, headers)
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return body.result.structuredContent.id
}

for (const [name, start] of Object.entries(proxies)) {
  t.test(`${name}: the doctor looks through it, and finds nothing amiss`, async t => {
    const { prefix, world } = await setUp(t, start)
    const { stdout } = await world.run(['doctor', '--json', '--url', prefix], { env: { READYROOM_TOKEN: TOKEN } })
    const checks = (JSON.parse(stdout) as { checks: Array<{ id: string, status: string }> }).checks.filter(({ id }) => id.startsWith('url-'))
    t.strictSame(checks.map(({ id, status }) => `${id} ${status}`),
      ['url-reach ok', 'url-page ok', 'url-token ok', 'url-events ok', 'url-origin ok', 'url-clock ok'], stdout)
  })

  t.test(`${name}: a person drains the queue under a sub-path, with and without the slash, and news comes by itself`, async t => {
    const { prefix, origin } = await setUp(t, start)
    const context = await browser.newContext()
    context.setDefaultTimeout(20_000)
    t.teardown(() => context.close())
    // Without the slash: the proxy adds it, and keeps the port.
    const page = await openPage(t, context, prefix)
    t.equal(page.url(), `${prefix}/`)
    await page.getByLabel('Token').fill(TOKEN)
    await page.keyboard.press('Enter')
    await page.getByText('Live', { exact: true }).waitFor()

    let reads = 0
    page.on('request', request => { if (new URL(request.url()).pathname.endsWith('/api/tickets')) reads++ })
    const asked = performance.now()
    const id = await ask(prefix, 'Through the proxy?')
    await card(page, id).waitFor()
    t.ok(performance.now() - asked < 4_000, 'before a poll would have brought it')
    t.equal(reads, 0, 'it came as an event')

    await card(page, id).getByRole('button', { name: 'yes' }).click()
    await card(page, id).getByRole('button', { name: 'Answer' }).click()
    await recent(page, id).waitFor()
    await recent(page, id).getByRole('button', { name: /Undo/ }).click()
    await card(page, id).waitFor()
    for (const url of [`${prefix}/`, prefix]) {
      await page.goto(url)
      await card(page, id).waitFor()
    }
    const answered = await call<Ticket>(prefix, '/api/answer', { id, answer: 'no' })
    t.match(answered, { status: 200, body: { status: 'answered', answer: 'no' } })
    t.match(await call(prefix, '/mcp/my-project', tool('wait_for_answer', { id })), { body: { result: { structuredContent: { answer: 'HUMAN ANSWER: no' } } } })
    t.equal(new URL(page.url()).origin, origin)
  })

  t.test(`${name}: events are passed on as they come`, async t => {
    const { prefix } = await setUp(t, start)
    const abort = new AbortController()
    t.teardown(() => abort.abort())
    const begin = performance.now()
    const response = await fetch(`${prefix}/api/events`, { headers: { authorization: `Bearer ${TOKEN}` }, signal: abort.signal })
    const reader = response.body!.getReader()
    t.ok((await reader.read()).value!.length > 0)
    t.ok(performance.now() - begin < 4_000, 'the first byte at once')
    const id = await ask(prefix, 'At once?')
    let text = ''
    while (!text.includes(id)) text += new TextDecoder().decode((await reader.read()).value)
    t.match(text, /event: ticket/)
  })

  t.test(`${name}: only the proxy's own origin passes, and a foreign one is told so`, async t => {
    const { prefix, direct } = await setUp(t, start)
    for (const origin of ['https://evil.example', 'null', new URL(prefix).origin.replace('http:', 'https:')]) {
      t.match(await call(prefix, '/mcp/x', tool('list_pending', {}), { origin }), { status: 403, body: { error: 'FORBIDDEN_ORIGIN' } })
      t.match(await call(prefix, '/api/answer', { id: 'x', answer: 'y' }, { origin }), { status: 403 })
    }
    t.match(await call(direct, '/mcp/x', tool('list_pending', {})), { status: 200 }, 'the machine itself still may')
    t.match(await call(prefix, '/mcp/x', tool('list_pending', {}), { authorization: 'Bearer no' }), { status: 401 })
  })

  t.test(`${name}: wrong tokens are counted by who really sent them`, async t => {
    const { prefix } = await setUp(t, start)
    let last = 0
    for (let n = 0; n < 21; n++) {
      const response = await fetch(`${prefix}/api/tickets`, { headers: { authorization: `Bearer wrong-${n}`, 'x-forwarded-for': `203.0.113.${n}` } })
      last = response.status
      await response.arrayBuffer()
    }
    t.equal(last, 429, 'an address that the client made up is not believed')
    t.match(await call(prefix, '/mcp/x', tool('list_pending', {})), { status: 200 }, 'the right one is never throttled')
  })

  t.test(`${name}: a stream's name arrives as it was written, and what is too large is refused by Ready Room`, async t => {
    const { prefix } = await setUp(t, start)
    await ask(prefix, 'Which stream?', encodeURIComponent('my repo (v2) é'))
    t.match(await call(prefix, '/mcp/x', tool('list_pending', {})), { body: { result: { structuredContent: { tickets: [{ stream: 'my repo (v2) é' }] } } } })
    t.match(await call(prefix, '/mcp/x', { pad: 'x'.repeat(1_600_000) }), { status: 413, body: { error: 'TOO_LARGE' } })
  })
}

t.test('nginx: with a login of its own it puts the token in, and the browser never has it', async t => {
  const { prefix } = await setUp(t, nginx(1))
  t.equal((await fetch(`${prefix}/`)).status, 401)
  const authorization = `Basic ${Buffer.from('lea:secret').toString('base64')}`
  const id = await ask(prefix, 'Behind a login?', 'my-project', { authorization })
  const context = await browser.newContext({ httpCredentials: { username: 'lea', password: 'secret' } })
  context.setDefaultTimeout(20_000)
  t.teardown(() => context.close())
  const page = await openPage(t, context, `${prefix}/`)
  await card(page, id).getByRole('button', { name: 'yes' }).click()
  await card(page, id).getByRole('button', { name: 'Answer' }).click()
  await recent(page, id).waitFor()
  t.equal(await page.evaluate('JSON.stringify(localStorage)').then(text => String(text).includes(TOKEN)), false)
  await eventually(async () => (await page.getByText('Live', { exact: true }).count()) > 0 || undefined, 'the page to be live')
})
