import type { BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Ticket } from '../../schemas/ticket'
import { pageContract } from '../contract/page'
import { callerOf } from '../contract/v1'
import { launchBrowser, openPage } from '../helpers/browser'
import { typeToken } from '../helpers/consoles'
import { ask } from '../helpers/http'
import { PHONE, violations } from '../helpers/looks'
import { eventually } from '../helpers/process'
import { setUpAsTyped } from '../helpers/typed-setup'
import { TOKEN } from '../helpers/worker'
import { call, enqueue, post, request } from '../helpers/worker-client'
import { administer, mint } from '../helpers/worker-rooms'
import { startWranglerDev } from '../helpers/wrangler-dev'

// The whole of the page's contract, on a machine that may be busy with other things.
t.setTimeout(300_000)

const worker = await startWranglerDev(t, t.testdir(), { READYROOM_CONSOLE_LAN_ONLY: 'off' })
const browser = await launchBrowser(t)

pageContract(t, browser, {
  name: 'wrangler dev',
  isLive: false,
  token: TOKEN,
  async open (t) {
    const pending = new Set<string>()
    const cancel = (id: string): Promise<unknown> => call(worker, '/mcp', 'cancel_ticket', { id })
    // One queue for all of them: each leaves it as it found it, but for what was settled.
    t.teardown(() => Promise.all([...pending].map(cancel)))
    return {
      url: `${worker.origin}/`,
      async enqueue (input) {
        const id = await enqueue(worker, input)
        pending.add(id)
        return id
      },
      async answer (id, text) {
        const response = await post(worker, '/api/answer', { id, answer: text })
        if (response.status !== 200) throw new Error(`answer: ${response.status} ${await response.text()}`)
      },
      cancel,
      ticket: async id => await (await request(worker, `/api/tickets/${id}`)).json() as Ticket
    }
  }
})

const reach = (token: string) => callerOf({ origin: worker.origin, request: (path, init) => ask(worker.origin, path, init) }, token)

/** A browser profile of its own with a page of the Worker in it. */
async function open (
  t: Test, path: string, { token, clock = false, ...look }: BrowserContextOptions & { token?: string, clock?: boolean } = {}
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_000, height: 900 }, locale: 'en-GB', ...look })
  context.setDefaultTimeout(20_000)
  t.teardown(() => context.close())
  if (clock) await context.clock.install()
  const page = await openPage(t, context, `${worker.origin}${path}`)
  if (token !== undefined) await typeToken(page, token)
  return page
}

t.test('the admin page of a Worker mints a token whose setup text, typed as it stands, gives a working agent', async t => {
  const page = await open(t, '/admin', { token: TOKEN })
  await page.getByRole('button', { name: 'Begin with tokens' }).click()
  await page.getByLabel('Name of a new room').fill('main')
  await page.getByRole('button', { name: 'Make the room' }).click()
  await page.getByRole('article', { name: 'Room main' }).waitFor()
  await page.getByLabel('Name', { exact: true }).fill('otter')
  await page.getByRole('button', { name: 'Mint', exact: true }).click()
  const { client, sessionStart } = await setUpAsTyped(t, page, 'remote')
  const names = (await client.listTools()).tools.map(({ name }) => name)
  t.ok(['ask_human', 'wait_for_answer', 'post_message', 'whats_new', 'claim_task'].every(name => names.includes(name)))
  await client.callTool({ name: 'post_message', arguments: { body: 'I am here.' } })
  const asked = await client.callTool({ name: 'ask_human', arguments: { question: 'Shall I begin?' } })
  t.match(asked.structuredContent, { status: 'pending' })
  await client.callTool({ name: 'whats_new', arguments: {} })
  await reach(await mint(worker, 'beaver')).post('/v1/messages', { body: '@otter welcome aboard' })
  // On a machine that has no time for it the hook says nothing, and says it the next time.
  const said = await eventually(async () => await sessionStart() || undefined, 'the hook')
  t.match(said, /welcome aboard/, 'the hook tells the agent what it has not seen')
  t.equal(await page.locator('#text-lan-mcp_json').count(), 0, 'there is no network around a Worker')
  await page.getByText('for whoever reaches the server: READYROOM_CONSOLE_LAN_ONLY is off').waitFor()
  await page.getByText('Address of the setup texts').waitFor()
})

t.test('the room page of a Worker asks one small question every 15 s, once a minute where nobody looks, and reads only what is old', async t => {
  const [ann, token] = [reach(await mint(worker, 'ann')), await mint(worker, 'lea', { role: 'approver' })]
  await ann.post('/v1/messages', { body: 'before it was opened' })
  const page = await open(t, '/ui', { token, clock: true })
  await page.getByText('before it was opened').waitFor()
  await page.getByText('Polling every 15 s').waitFor()
  const asked: string[] = []
  page.on('request', request => asked.push(new URL(request.url()).pathname))
  /** Resolves when what a look has begun is over. */
  const settled = async (): Promise<void> => {
    while (!await page.evaluate('state.head !== undefined && looking === undefined && reading === undefined && dirty.size === 0')) await page.clock.runFor(50)
  }
  /** Time passes, in steps that are shorter than the page has patience with a question. */
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 5) {
      await page.clock.runFor(5_000)
      await settled()
    }
  }
  const nextLook = async (): Promise<void> => {
    asked.length = 0
    while (asked.length === 0) await page.clock.runFor(500)
    await settled()
    asked.length = 0
  }
  await settled()
  await nextLook()
  // Whatever the machine takes is time for the page as well.
  await pass(65)
  t.strictSame(asked, Array(4).fill('/v1/unread'), 'a minute of nothing is four requests')

  await nextLook()
  await ann.post('/v1/messages', { body: 'said just now' })
  await pass(15)
  await page.getByText('said just now').waitFor()
  t.strictSame([...new Set(asked)].sort(), ['/v1/agents', '/v1/attention', '/v1/events', '/v1/messages', '/v1/unread'], 'no board, no files')

  await page.getByLabel(/^Message, as/).fill('Good, ship it.')
  await page.keyboard.press('Enter')
  await pass(5)
  await page.locator('.item.person', { hasText: 'Good, ship it.' }).waitFor()
  await nextLook()

  await page.evaluate("Object.defineProperty(document, 'hidden', { value: true }); document.dispatchEvent(new Event('visibilitychange'))")
  await pass(200)
  t.strictSame(asked, Array(3).fill('/v1/unread'), 'three minutes out of sight are three requests')

  await administer(worker, 'revoke', { agent: 'lea' })
  asked.length = 0
  while (asked.length === 0) await page.clock.runFor(500)
  await page.getByText('That token was not accepted.').waitFor()
})

t.test('another room is looked at from its own end on, and one that is deleted is said, without a stream too', async t => {
  const token = await mint(worker, 'mole', { also: ['lab'] })
  const mole = reach(token)
  const ann = reach(await mint(worker, 'ann', { room: 'lab' }))
  await mole.post('/v1/messages', { body: 'in the lab', room: 'lab' })
  const page = await open(t, '/ui', { token, clock: true })
  await page.getByText('Polling every 15 s').waitFor()
  await page.getByLabel('Room').selectOption('lab')
  await page.getByText('in the lab').waitFor()
  // Its first look is over: where the log ends is known.
  await eventually(async () => await page.evaluate("state.room === 'lab' && state.head !== undefined && looking === undefined") || undefined, 'the first look')
  /** One look, and what it makes old. */
  const look = async (): Promise<void> => {
    const asked: string[] = []
    const answer = page.waitForResponse(response => new URL(response.url()).pathname === '/v1/unread')
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    while (!asked.includes('/v1/unread')) await page.clock.runFor(500)
    await answer
  }
  await ann.post('/v1/messages', { body: 'once more in the lab' })
  await look()
  await page.getByText('once more in the lab').waitFor()
  await page.getByRole('tab', { name: 'Events' }).click()
  await page.locator('#events-list .item', { hasText: 'message posted' }).last().waitFor()
  await administer(worker, 'delete-room', { room: 'lab', confirm: 'lab' })
  await look()
  await page.getByText('The room was deleted: lab').waitFor()
  t.ok(await eventually(async () => await page.getByLabel('Room').inputValue() === 'main' || undefined, 'the room that is left'))
})

t.test('axe finds nothing on the pages of a Worker, and they fit a phone', async t => {
  await reach(await mint(worker, 'ann')).post('/v1/tasks', { title: 'Move the ledger', claim: true })
  for (const look of [{ colorScheme: 'light' }, { colorScheme: 'dark', ...PHONE }] as const) {
    const room = await open(t, '/ui', { token: TOKEN, bypassCSP: true, ...look })
    await room.getByText('Polling every 15 s').waitFor()
    for (const tab of ['Chat', 'Board', 'Events']) {
      await room.getByRole('tab', { name: tab }).click()
      t.strictSame(await violations(room), [], `${tab} ${look.colorScheme}`)
    }
    const admin = await open(t, '/admin', { token: TOKEN, bypassCSP: true, ...look })
    await admin.getByRole('button', { name: 'Setup text for token 1' }).click()
    await admin.locator('#text-brief').waitFor()
    t.strictSame(await violations(admin), [], `admin ${look.colorScheme}`)
    for (const page of [room, admin]) t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'it fits its window')
  }
})
