import t from 'tap'
import { card, launchBrowser, live, openPage, recent, visit } from '../helpers/browser'
import { eventually } from '../helpers/process'

const browser = await launchBrowser(t)
const status = '#feed'

t.test('first paint waits for nothing, the page is there before any answer', async t => {
  const { page, context, server } = await visit(t, browser)
  await context.route('**/api/**', () => { /* never answered */ })
  await page.goto(server.url, { waitUntil: 'commit' })
  await page.getByText('Asking for tickets …').waitFor()
  t.equal(await page.title(), 'heads-up')
})

t.test('the list does not wait for a stream that says nothing', async t => {
  const { page } = await visit(t, browser, { events: 'held', before: server => server.enqueue({ id: 'p' }) })
  await card(page, 'p').waitFor()
  t.equal(await page.locator(status).textContent(), 'Polling every 5 s')
})

t.test('it is right in a frame that is not shown, and once that is shown', async t => {
  const { page, context, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await context.route('**/host', route => route.fulfill({ contentType: 'text/html', body: '<iframe src="/" width="700" height="600" style="display: none"></iframe>' }))
  await page.goto(`${server.origin}/host`)
  const frame = page.frameLocator('iframe')
  await frame.locator('.card .question').waitFor({ state: 'attached' })
  server.enqueue({ id: 'q' })
  await frame.locator('.card[data-id=q]').waitFor({ state: 'attached' })
  await page.evaluate(() => { document.querySelector('iframe')!.style.display = 'block' })
  await frame.locator('.card[data-id=p]').getByRole('button', { name: 'No' }).click()
  await frame.locator('.card[data-id=p]').getByRole('button', { name: 'Answer' }).click()
  await frame.locator('#recent li').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: 'No' }])
})

t.test('where the stream is refused it polls every five seconds, says so, and goes live once it may', async t => {
  for (const events of ['refused', 'broken'] as const) {
    const { page, server } = await visit(t, browser, { events, clock: true })
    await page.getByText('Polling every 5 s').waitFor()
    server.enqueue({ id: 'p' })
    await page.clock.fastForward(5_000)
    await card(page, 'p').waitFor()
    server.events = 'live'
    await page.clock.fastForward(601_000)
    await live(page)
    server.enqueue({ id: 'q' })
    await card(page, 'q').waitFor()
    t.pass(`after ${events}`)
  }
})

t.test('a server without a stream is asked for one seldom, however often the page is looked at', async t => {
  const { page, server } = await visit(t, browser, { events: 'refused', clock: true })
  await page.getByText('Polling every 5 s').waitFor()
  const asked = () => server.seen.filter(({ url }) => url === '/api/events').length
  await server.when(() => asked() === 1, 'the first question')
  for (let minute = 0; minute < 4; minute++) {
    await page.clock.runFor(60_000)
    const before = server.seen.length
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await server.when(() => server.seen.length > before, 'the list, read because somebody looks')
  }
  t.equal(asked(), 1)
  await page.reload()
  await server.when(() => asked() === 2, 'a reload asks anew')
  await eventually(async () => {
    await page.clock.fastForward(601_000)
    return asked() >= 3
  }, 'another question ten minutes later')
})

t.test('a clock that is set back while the page is open leaves times as they are', async t => {
  const { page } = await visit(t, browser, { clock: true, before: server => server.enqueue({ id: 'p' }) })
  await live(page)
  const left = () => card(page, 'p').locator('.left').textContent()
  t.match(await left(), /^expires in (29|30)m /)
  await page.clock.setSystemTime(Date.now() - 86_400_000)
  await page.clock.runFor(2_000)
  await eventually(async () => /^expires in (29|30)m /.test(await left() ?? '') && await page.evaluate('state.skew') as number > 80_000_000, 'the difference to the server, measured anew')
  t.match(await left(), /^expires in (29|30)m /)
})

t.test('a stream that breaks is taken up where it was', async t => {
  const { page, server } = await visit(t, browser, { clock: true })
  await live(page)
  server.enqueue({ id: 'p' })
  await card(page, 'p').waitFor()
  server.events = 'broken'
  server.dropStreams()
  await page.getByText('Polling every 5 s').waitFor()
  server.quietly(() => server.enqueue({ id: 'q' }))
  server.events = 'live'
  await page.clock.fastForward(30_000)
  await live(page)
  await card(page, 'q').waitFor()
  t.equal(server.seen.findLast(({ url }) => url === '/api/events')?.lastEventId, '1')
  t.equal(await page.title(), '(2) heads-up')
})

t.test('a thousand events at once are read in one go', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p' }) })
  await live(page)
  const start = performance.now()
  const change = (id: number) => ({ ...server.tickets.get('p')!, rev: id, question: `Revision ${id}?` })
  const entries = Array.from({ length: 1_000 }, (_, i) => `event: ticket\nid: ${i + 2}\ndata: ${JSON.stringify(change(i + 2))}\n\n`)
  server.write(entries.join(''))
  await card(page, 'p').getByText('Revision 1001?').waitFor()
  t.ok(performance.now() - start < 5_000)
})

t.test('reset makes it read the list again', async t => {
  const { page, server } = await visit(t, browser)
  await live(page)
  server.quietly(() => server.enqueue({ id: 'p' }))
  server.write('event: reset\nid: 7\ndata:\n\n')
  await card(page, 'p').waitFor()
  server.dropStreams()
  await server.when(() => server.seen.findLast(({ url }) => url === '/api/events')?.lastEventId === '7', 'the cursor of the reset')
  t.equal(await card(page, 'p').count(), 1)
})

t.test('events that come in pieces and with other line ends are read whole', async t => {
  const { page, server } = await visit(t, browser)
  await live(page)
  const ticket = JSON.stringify({ id: 'p', stream: 'ä', question: '😀?', urgency: 'low', status: 'pending', created_at: server.iso(), expires_at: server.iso(60_000), rev: 1 })
  const bytes = `: hi\r\n\r\nevent: other\r\ndata: x\r\n\r\nid: 9\r\nevent:ticket\r\ndata: ${ticket.slice(0, 1)}\r\ndata: ${ticket.slice(1)}\r\n\r\n`
  for (const piece of bytes.match(/[^]{1,7}/g)!) server.write(piece)
  await card(page, 'p').locator('.question').getByText('😀?').waitFor()
  t.equal(await page.locator('.stream bdi').first().textContent(), 'ä')
})

t.test('a connection that has died without a word is noticed', async t => {
  const { page, server } = await visit(t, browser, { clock: true })
  await live(page)
  const first = server.seen.filter(({ url }) => url === '/api/events').length
  for (let i = 0; i < 4; i++) {
    await page.clock.runFor(15_000)
    server.write(': still here\n\n')
    await page.evaluate(() => fetch('api/tickets')) // what the stream brought has been read by now
  }
  t.equal(server.seen.filter(({ url }) => url === '/api/events').length, first, 'a comment every 15 s is enough')
  await page.clock.runFor(45_000)
  await server.when(() => server.seen.filter(({ url }) => url === '/api/events').length > first, 'a new stream')
  await live(page)
})

t.test('it says since when it is offline, and comes back', async t => {
  const { page, server } = await visit(t, browser, { clock: true, before: server => server.enqueue({ id: 'p' }) })
  await live(page)
  server.isDown = true
  server.dropStreams()
  await page.getByText(/^Offline since \d\d:\d\d:\d\d$/).waitFor()
  t.equal(await card(page, 'p').count(), 1, 'what is known stays readable')
  await card(page, 'p').getByRole('textbox').fill('mine')
  await page.keyboard.press('Enter')
  await card(page, 'p').getByText('Not confirmed: the server cannot be reached.').waitFor()
  server.isDown = false
  await page.clock.fastForward(31_000)
  await live(page)
  await card(page, 'p').getByRole('button', { name: 'Answer' }).click()
  await recent(page, 'p').waitFor()
})

t.test('an answer or an undo that gets no reply shows that the server is gone, though the stream has not broken', async t => {
  const { page, server } = await visit(t, browser, { before: server => ['p', 'q'].forEach(id => server.enqueue({ id, options: ['Yes', 'No'] })) })
  await live(page)
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await recent(page, 'p').waitFor()
  for (const act of ['u', '1 Enter']) {
    server.isDown = true
    for (const key of act.split(' ')) await page.keyboard.press(key)
    await page.getByText('Not confirmed: the server cannot be reached.').first().waitFor()
    await page.getByText(/^Offline since /).waitFor()
    server.isDown = false
    await live(page)
  }
  t.equal(server.openStreams, 1)
  t.strictSame(server.answers, [{ id: 'p', answer: 'Yes' }])
})

t.test('a hidden page polls once a minute, and reads at once when it is looked at', async t => {
  const { page, server } = await visit(t, browser, { events: 'refused', clock: true })
  await page.getByText('Polling every 5 s').waitFor()
  const hide = (hidden: boolean) => page.evaluate(hidden => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)
  const polls = () => server.seen.filter(({ url }) => url === '/api/tickets').length
  await hide(true)
  const before = polls()
  await page.clock.runFor(50_000)
  await page.evaluate(() => fetch('healthz').catch(() => {}))
  t.equal(polls(), before, 'not even the poll that was due')
  await page.clock.runFor(11_000)
  await server.when(() => polls() === before + 1, 'the one of the minute')
  server.enqueue({ id: 'p' })
  await page.clock.runFor(50_000)
  await page.evaluate(() => fetch('healthz').catch(() => {}))
  t.equal(polls(), before + 1)
  await hide(false)
  await card(page, 'p').waitFor()
  t.ok(polls() > before + 1)
})

t.test('a refusal of the list is shown in the words of the server', async t => {
  const { page, context, server } = await visit(t, browser)
  await context.route('**/api/tickets', route => route.fulfill({ status: 421, json: { error: 'FORBIDDEN_HOST', message: 'This name is not ours.' } }))
  await page.goto(server.url)
  await page.getByRole('alert').getByText('This name is not ours.').waitFor()
  t.match(await page.locator(status).textContent(), /^Refused since/)
})

t.test('a burst is announced once, with its count and what is blocking', async t => {
  const { page, server } = await visit(t, browser)
  await live(page)
  await page.evaluate(() => {
    const said: string[] = []
    const titles: string[] = []
    Object.assign(globalThis, { said, titles })
    new MutationObserver(() => titles.push(document.title)).observe(document.querySelector('title')!, { childList: true })
    new MutationObserver(() => said.push(document.getElementById('say')!.textContent!)).observe(document.getElementById('say')!, { childList: true, characterData: true, subtree: true })
  })
  for (let i = 0; i < 15; i++) server.enqueue({ stream: `agent ${i}`, urgency: i % 8 === 3 ? 'blocking' : 'normal' })
  await page.getByText('15 new tickets, 2 blocking').waitFor()
  t.strictSame(await page.evaluate(() => (globalThis as unknown as { said: string[] }).said), ['15 new tickets, 2 blocking'])
  t.equal(await page.title(), '(15) heads-up')
  t.strictSame(await page.evaluate(() => (globalThis as unknown as { titles: string[] }).titles), ['(15) heads-up'], 'one change of the title')
})

t.test('eight tabs share one event stream, all are live, and the last one answers', async t => {
  const { page, server, context } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  const tabs = [page]
  while (tabs.length < 8) tabs.push(await openPage(t, context, server.url))
  for (const tab of tabs) await live(tab)
  t.equal(server.openStreams, 1)
  server.enqueue({ id: 'q' })
  for (const tab of tabs) await card(tab, 'q').waitFor()
  const last = tabs.at(-1)!
  const start = performance.now()
  await last.keyboard.press('1')
  await last.keyboard.press('Enter')
  for (const tab of tabs) await recent(tab, 'p').waitFor()
  t.ok(performance.now() - start < 5_000, 'in normal time')
  t.strictSame(server.answers, [{ id: 'p', answer: 'Yes' }])
  await page.close()
  await server.when(() => server.openStreams === 1 && server.seen.filter(({ url }) => url === '/api/events').length === 2, 'another tab holds the stream')
  server.enqueue({ id: 'r' })
  for (const tab of tabs.slice(1, -1)) await card(tab, 'r').waitFor()
  await last.getByRole('button', { name: '1 new. Show' }).waitFor() // there somebody is at a ticket
  t.equal(server.openStreams, 1)
})

t.test('on plain HTTP from another machine, without Web Locks, the tabs agree on one stream, and on another when its tab goes', async t => {
  const { page, server, context } = await visit(t, browser)
  await context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
  await page.close()
  await server.when(() => server.openStreams === 0, 'the first page is gone')
  const tabs = await Promise.all([1, 2, 3].map(() => openPage(t, context, server.url)))
  for (const tab of tabs) await live(tab)
  t.equal(server.openStreams, 1)
  const leads = await Promise.all(tabs.map(tab => tab.evaluate('feed.leading')))
  t.equal(leads.filter(Boolean).length, 1)
  const [leader] = tabs.splice(leads.indexOf(true), 1)
  const asked = server.seen.filter(({ url }) => url === '/api/events').length
  await leader!.goto('about:blank')
  await server.when(() => server.openStreams === 1 && server.seen.filter(({ url }) => url === '/api/events').length > asked, 'another tab holds it')
  server.enqueue({ id: 'p' })
  for (const tab of tabs) await card(tab, 'p').waitFor()
  t.equal(server.openStreams, 1)
})

t.test('two tabs that both believe to lead are one again at once', async t => {
  const { page, server, context } = await visit(t, browser)
  await context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
  await page.reload()
  await live(page)
  const second = await openPage(t, context, server.url)
  await live(second)
  await second.evaluate("feed.leading = true; void lead(); speak('lead')")
  // The one that gives way may do so before its stream has reached the server.
  const leaders = async () => (await Promise.all([page, second].map(tab => tab.evaluate('feed.leading')))).filter(Boolean).length
  await eventually(async () => await leaders() === 1 && server.openStreams === 1, 'one of two leaders and of two streams')
  server.enqueue({ id: 'p' })
  for (const tab of [page, second]) await card(tab, 'p').waitFor()
  t.equal(server.openStreams, 1)
})

t.test('where tabs cannot even talk, every tab polls', async t => {
  const { page, server, context } = await visit(t, browser)
  await context.addInitScript(() => { Reflect.deleteProperty(globalThis, 'BroadcastChannel') })
  await page.reload()
  await page.getByText('Polling every 5 s').waitFor()
  server.enqueue({ id: 'p' })
  await card(page, 'p').waitFor()
  t.equal(server.openStreams, 0)
})

t.test('a token is asked for once, kept, and never in a URL', async t => {
  const { page, server, context } = await visit(t, browser, { clock: true, token: 'right-token-of-some-length', before: server => server.enqueue({ id: 'p' }) })
  const field = page.getByLabel('Token')
  await field.waitFor()
  t.equal(await page.locator('.card').count(), 0)
  t.ok(server.seen.filter(({ url }) => url.startsWith('/api')).length <= 1, 'one refusal is enough')
  await field.fill('wrong')
  await field.press('Enter')
  await page.getByText('That token was not accepted.').waitFor()
  const asked = server.seen.length
  await page.clock.fastForward(120_000)
  await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 0)))
  t.equal(server.seen.length, asked, 'it stops asking the server until there is another token')
  for (const text of ['\u201Cright-token-of-some-length\u201D', 'right-token-of-some-length\u200B', 'right-token of-some-length']) {
    await field.fill(text)
    await field.press('Enter')
    await page.getByText(/this text holds others/).waitFor()
    t.ok(await field.isVisible(), 'what no header can carry is said, and asked for again')
  }
  t.equal(server.seen.length, asked)
  t.equal(await page.evaluate(() => localStorage.getItem('readyroom-token:/')), null)
  await field.fill(' right-token-of-some-length ')
  await page.getByRole('button', { name: 'Open' }).click()
  await card(page, 'p').waitFor()
  await page.waitForFunction(() => document.activeElement?.matches('main'), undefined, { timeout: 5_000 })
  await live(page)
  const start = performance.now()
  server.enqueue({ id: 'q' })
  await card(page, 'q').waitFor()
  t.ok(performance.now() - start < 2_000)
  const second = await openPage(t, context, server.url)
  await card(second, 'q').waitFor()
  t.equal(await second.getByLabel('Token').isVisible(), false)
  t.strictSame(await second.evaluate(() => Object.entries(localStorage).filter(([, value]) => value.includes('right'))), [['readyroom-token:/', 'right-token-of-some-length']])
  t.notOk(server.seen.some(({ url }) => url.includes('token')))
})

t.test('a token that is taken back is asked for again, without losing a draft; another tab brings the new one', async t => {
  const { page, server, context } = await visit(t, browser, { token: 'first-token', before: server => server.enqueue({ id: 'p' }) })
  await page.getByLabel('Token').fill('first-token')
  await page.keyboard.press('Enter')
  await live(page)
  const second = await openPage(t, context, server.url)
  await live(second)
  await card(page, 'p').getByRole('textbox').fill('half a thought')
  server.token = 'second-token'
  server.dropStreams()
  await page.getByLabel('Token').waitFor()
  await second.getByLabel('Token').waitFor()
  t.equal(await page.evaluate(() => localStorage.getItem('readyroom-token:/')), null)
  await second.getByLabel('Token').fill('second-token')
  await second.keyboard.press('Enter')
  await live(second)
  await live(page)
  t.equal(await card(page, 'p').getByRole('textbox').inputValue(), 'half a thought')
})
