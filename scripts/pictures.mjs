// Takes the pictures of docs/images: the built product, a queue that agents have filled over MCP, a real Chromium.
//   npm run pictures    needs nothing but what the browser tests need; with pngquant on the PATH the files are small
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { findChromium } from './chromium.mjs'

const run = promisify(execFile)
const path = name => fileURLToPath(new URL(`../${name}`, import.meta.url))
const MINUTE = 60_000
const TOKEN = 'a-token-for-nothing-but-pictures'
const DESKTOP = { viewport: { width: 900, height: 900 } }
const PHONE = { viewport: { width: 375, height: 667 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }

// What agents ask, `ago` minutes ago as the pictures show it; and what was answered, `settled` minutes ago.
const QUEUE = [
  { stream: 'search-index', ago: 190, settled: 170, question: 'Rebuild the index at night only?', options: ['Yes', 'No'], answer: 'Yes' },
  { stream: 'checkout', ago: 95, settled: 88, question: 'The price list has two currencies. Which one is the base?', options: ['EUR', 'USD'], answer: 'EUR' },
  { stream: 'docs', ago: 64, settled: 61, question: 'May I rename the page “Setup” to “Getting started”?', answer: 'Yes, and keep a redirect from the old address.' },
  { stream: 'checkout', ago: 9, settled: 3, question: 'Which name shall the new table have?', options: ['order_events', 'order_log'], answer: 'order_events' },
  { stream: 'docs', ago: 6, settled: 1, question: 'Two links lead nowhere. Remove them?', answer: 'Remove the first; the second will be back on Monday.' },
  {
    stream: 'search-index',
    ago: 12,
    question: 'The new tokenizer finds 3 % more, and the index grows by 40 %. Keep it?',
    options: ['Keep it', 'Back to the old one', 'Keep it for titles only'],
    default_answer: 'Back to the old one',
    urgency: 'low'
  },
  {
    stream: 'checkout',
    ago: 4,
    question: 'The migration locks the orders table for about 40 s. Run it now?',
    options: ['Now', 'After 22:00', 'Not at all'],
    default_answer: 'Not at all',
    urgency: 'blocking',
    context: 'alter table orders add column settled_at timestamptz;\n12,400,118 rows; 31 open connections.\nA dry run on the copy took 38 s.'
  },
  { stream: 'checkout', ago: 1, question: 'What shall the customer read when a card is refused twice?', context: 'Now: “Payment failed (code 51).”' }
]

async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port >= 3000 && port <= 3899 ? freePort() : port
}

/** The built product in a folder of its own. */
async function startProduct (more = {}) {
  const home = await mkdtemp(join(tmpdir(), 'readyroom-pictures-'))
  const port = await freePort()
  const env = { PATH: process.env.PATH, HOME: home, READYROOM_STATE_DIR: join(home, 'state'), READYROOM_PORT: String(port), ...more }
  const child = spawn(process.execPath, [path('dist/readyroom.mjs'), 'serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  const isOpen = Promise.withResolvers()
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
    if (said.includes('The heads-up page is open')) isOpen.resolve()
  })
  child.once('exit', () => isOpen.reject(new Error(`Ready Room has ended. It said:\n${said}`)))
  const close = async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit')
    await rm(home, { recursive: true, force: true })
  }
  await isOpen.promise.catch(async err => { await close(); throw err })
  return { url: `http://127.0.0.1:${port}`, close }
}

async function post (url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', origin: new URL(url).origin },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
  return JSON.parse(text.replace(/^(?:event:.*\n)?data: /, ''))
}

async function ask (url, { stream, ago: _ago, settled: _settled, answer, ...ticket }) {
  const params = { name: 'ask_human', arguments: ticket }
  const { result } = await post(`${url}/mcp/${stream}`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const { id } = result.structuredContent
  if (answer !== undefined) await post(`${url}/api/answer`, { id, answer })
  return id
}

/** The same ticket, as if it had been asked and settled earlier: a queue whose tickets are all a second old is hard to believe. */
function aged (ticket) {
  const { ago = 0, settled = 0 } = QUEUE.find(({ question }) => question === ticket.question) ?? {}
  const earlier = (at, minutes) => at && new Date(Date.parse(at) - minutes * MINUTE).toISOString()
  return {
    ...ticket,
    created_at: earlier(ticket.created_at, ago),
    expires_at: earlier(ticket.expires_at, Math.min(ago, 25)),
    answered_at: earlier(ticket.answered_at, settled)
  }
}

async function age (context) {
  const isOld = ({ status, answered_at: at }) => status !== 'pending' && Date.now() - Date.parse(at) > 5 * MINUTE
  await context.route(/\/api\/(tickets$|history)/, async route => {
    // The product may be gone already while a last question of the page is on its way.
    const response = await route.fetch().catch(() => undefined)
    if (!response) return route.abort()
    if (!response.ok()) return route.fulfill({ response })
    const body = await response.json()
    const tickets = body.tickets.map(aged)
    const isList = route.request().url().endsWith('/tickets')
    await route.fulfill({ response, json: { ...body, tickets: isList ? tickets.filter(ticket => !isOld(ticket)) : tickets } })
  })
}

async function take (page, name) {
  const file = path(`docs/images/${name}.png`)
  await page.screenshot({ path: file })
  const isSmaller = await run('pngquant', ['--force', '--skip-if-larger', '--speed', '1', '--nofs', '--output', file, '--', '64', file]).then(() => true, () => false)
  const { size } = await stat(file)
  process.stdout.write(`${file}: ${Math.ceil(size / 1_024)} KiB${isSmaller ? '' : ', as it came: there is no pngquant on the PATH, or it gained nothing'}\n`)
}

const STATES = {
  async light (open) {
    const page = await open({ colorScheme: 'light', ...DESKTOP })
    await page.keyboard.press('1')
    await take(page, 'heads-up-page')
  },
  async dark (open) {
    const page = await open({ colorScheme: 'dark', ...DESKTOP })
    await page.getByRole('button', { name: 'Keep it for titles only' }).click()
    await page.mouse.move(0, 0)
    await take(page, 'heads-up-page-dark')
  },
  async 'forced-colours' (open) {
    const page = await open({ forcedColors: 'active', ...DESKTOP })
    await page.keyboard.press('2')
    await take(page, 'heads-up-page-forced-colours')
  },
  async keys (open) {
    const page = await open({ ...DESKTOP, viewport: { width: 900, height: 620 } })
    await page.keyboard.press('?')
    await take(page, 'heads-up-page-keys')
  },
  async settled (open) {
    const page = await open({ ...DESKTOP, viewport: { width: 900, height: 560 } })
    await page.getByRole('button', { name: 'Show what was settled before' }).click()
    await page.getByText('There is nothing older').waitFor()
    await page.evaluate("document.querySelector('#recent').scrollIntoView()")
    await take(page, 'heads-up-page-settled')
  },
  async phone (open, url) {
    const page = await open(PHONE)
    await page.locator('.options button').first().tap()
    for (const urgency of ['blocking', 'normal']) await ask(url, { stream: 'release', question: `A ${urgency} one?`, urgency })
    await page.locator('#arrivals').waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await take(page, 'heads-up-page-phone')
  }
}

async function takeAll (browser) {
  const { url, close } = await startProduct()
  const contexts = []
  const visit = async (options, to = url) => {
    const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
    contexts.push(context)
    await age(context)
    const page = await context.newPage()
    await page.goto(to)
    return page
  }
  try {
    const empty = await visit({ ...DESKTOP, viewport: { width: 900, height: 640 } })
    await empty.locator('.feed.live').waitFor()
    await take(empty, 'heads-up-page-empty')
    for (const ticket of QUEUE) await ask(url, ticket)
    const open = async options => {
      const page = await visit(options)
      await page.locator('.feed.live').waitFor()
      await page.locator('.card').nth(2).waitFor()
      return page
    }
    for (const state of Object.values(STATES)) await state(open, url)
    const locked = await startProduct({ READYROOM_TOKEN: TOKEN })
    try {
      const page = await visit({ ...PHONE, colorScheme: 'dark' }, locked.url)
      await page.getByLabel('Token').waitFor()
      await take(page, 'heads-up-page-token')
    } finally {
      await locked.close()
    }
  } finally {
    for (const context of contexts) {
      await context.unrouteAll({ behavior: 'wait' })
      await context.close()
    }
    await close()
  }
}

const tokenOf = async (url, agent, role = 'agent') => (await asOwner(url, 'admin/add-token', { agent, room: 'main', role })).token

const asOwner = (url, name, body) => tell(url, TOKEN, name, body)

async function tell (url, token, name, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/v1/${name}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** A room with some work in it. Returns the token of the person in it. */
async function fillRoom (url) {
  await asOwner(url, 'admin/init', {})
  const [otter, beaver] = [await tokenOf(url, 'otter'), await tokenOf(url, 'beaver')]
  await tell(url, otter, 'room', { description: 'Everything that touches the ledger.', repo_url: 'https://git.example/ledger' })
  await tell(url, otter, 'tasks', { title: 'Move the ledger to the new schema', body: 'In two steps; the old columns stay for a week.', claim: true })
  await tell(url, beaver, 'tasks', { title: 'Rewrite the import on top of it', depends_on: [1] })
  await tell(url, beaver, 'tasks', { title: 'Decide what becomes of the old exports', ask: { question: 'Keep the old CSV exports for another year?', options: ['Keep them', 'Drop them'] } })
  await tell(url, otter, 'messages', { body: 'I begin with the schema, and leave the import alone until task 1 is done. @beaver please hold what you have.' })
  await tell(url, beaver, 'messages', { body: 'Holding. My branch is rebased; the import needs the column `settled_at`, so tell me when it is there.', reply_to: 1 })
  await tell(url, otter, 'messages', { body: 'It is there, with an index. The migration takes four seconds on a copy of production.', reply_to: 2, to: ['beaver'], require_ack: true })
  await tell(url, beaver, 'messages/ack', { message_id: 3 })
  const lea = await tokenOf(url, 'lea', 'approver')
  await tell(url, lea, 'messages', { body: 'Good. Leave the old columns in until Monday, then drop them.', reply_to: 3 })
  return lea
}

async function takeConsoles (browser) {
  const { url, close } = await startProduct({ READYROOM_TOKEN: TOKEN, READYROOM_ADMIN_API: 'on' })
  const contexts = []
  const visit = async (path, token, options) => {
    const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
    contexts.push(context)
    const page = await context.newPage()
    await page.goto(url + path)
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    return page
  }
  try {
    const lea = await fillRoom(url)
    const chat = await visit('/ui', lea, { colorScheme: 'light', ...DESKTOP })
    await chat.locator('.feed.live').waitFor()
    await chat.locator('.item').nth(3).waitFor()
    await take(chat, 'room')
    const board = await visit('/ui', lea, { colorScheme: 'dark', ...PHONE })
    await board.getByRole('tab', { name: 'Board' }).click()
    await board.locator('.item').nth(2).waitFor()
    await take(board, 'room-phone')
    const admin = await visit('/admin', TOKEN, { colorScheme: 'light', ...DESKTOP })
    await admin.getByRole('button', { name: 'Setup text for token 1 of otter' }).click()
    await admin.locator('#text-brief').waitFor()
    await admin.evaluate('scrollTo(0, 0)')
    await take(admin, 'admin')
  } finally {
    for (const context of contexts) await context.close()
    await close()
  }
}

const browser = await chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] })
try {
  // `npm run pictures -- room` takes those of the room and its administration alone.
  if (process.argv[2] !== 'room') await takeAll(browser)
  await takeConsoles(browser)
} finally {
  await browser.close()
}
