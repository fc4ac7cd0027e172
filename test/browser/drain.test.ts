import t from 'tap'
import { card, launchBrowser, live, recent, visit } from '../helpers/browser'
import { eventually } from '../helpers/process'

const browser = await launchBrowser(t)
const MINUTE = 60_000

t.test('a card says what is asked, how urgent it is, its age by the server and what happens when it expires', async t => {
  const { page, server } = await visit(t, browser, {
    before: server => {
      // The person's clock is an hour off: only the server's counts.
      server.skewMs = 60 * MINUTE
      server.enqueue({
        id: 'x',
        question: 'Ship it?',
        options: ['Yes', 'No'],
        default_answer: 'No',
        urgency: 'blocking',
        context: 'one\n\n  two',
        created_at: server.iso(-4 * MINUTE - 5_000),
        expires_at: server.iso(26 * MINUTE + 30_000)
      })
      server.enqueue({ id: 'y', urgency: 'low', expires_at: server.iso(90 * MINUTE + 30_000) })
    }
  })
  const x = card(page, 'x')
  await x.waitFor()
  t.equal(await x.locator('.badge').textContent(), 'blocking')
  t.equal(await x.locator('.age').textContent(), '4m')
  t.equal(await x.locator('.left').textContent(), 'expires in 26m with the default “No”')
  t.equal(await x.locator('.question').textContent(), 'Ship it?')
  t.equal(await x.locator('.context').innerText(), 'one\n\n  two')
  t.strictSame(await x.locator('.options .text').allTextContents(), ['Yes', 'No'])
  t.equal(await card(page, 'y').locator('.left').textContent(), 'expires in 1h 30m without an answer')
  const width = (id: string) => card(page, id).evaluate(c => getComputedStyle(c).borderInlineStart)
  t.not(await width('x'), await width('y'), 'urgency is told by the border too')
  t.equal(server.answers.length, 0)
})

t.test('an answer of one\'s own clears its card, though its event comes before the reply', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await page.route('**/api/answer', async route => {
    const response = await route.fetch()
    await eventually(() => page.evaluate<boolean>("state.entries.get('p').ticket.status === 'answered'"), 'the event')
    await route.fulfill({ response })
  })
  await card(page, 'p').waitFor()
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing is waiting for you.').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: 'Yes' }])
})

t.test('an answer of one\'s own clears its card, though its reply comes before the event', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await page.route('**/api/events', route => route.abort())
  await page.reload()
  await card(page, 'p').waitFor()
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await recent(page, 'p').waitFor()
  await page.getByText('Nothing is waiting for you.').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: 'Yes' }])
})

t.test('recent shows who settled it, and forgets it after five minutes', async t => {
  const { page, server } = await visit(t, browser, {
    clock: true,
    before: server => {
      ['a', 'b', 'c', 'd'].forEach(id => server.enqueue({ id, ...(id === 'b' && { default_answer: 'Wait' }) }))
      server.answer('a', 'Go')
      server.expire('b')
      server.expire('c')
      server.cancel('d')
    }
  })
  await recent(page, 'a').waitFor()
  const said = async (id: string) => recent(page, id).locator('.outcome').textContent()
  t.equal(await said('a'), 'A person answered: Go')
  t.equal(await said('b'), 'Expired, default applied: Wait')
  t.equal(await said('c'), 'Expired without an answer')
  t.equal(await said('d'), 'Cancelled by the agent')
  t.equal(await recent(page, 'b').getByRole('button').count(), 0, 'only an answer can be taken back')
  server.skewMs = 301_000
  await page.clock.fastForward(301_000)
  await page.locator('#recent').waitFor({ state: 'hidden' })
  t.equal(await recent(page, 'a').count(), 0)
})

t.test('a ticket that has run out of time here is asked about at once', async t => {
  const { page, server } = await visit(t, browser, {
    clock: true, before: server => server.enqueue({ id: 'p', default_answer: 'Wait', expires_at: server.iso(3_000) })
  })
  await live(page)
  server.quietly(() => server.expire('p'))
  await page.clock.fastForward(4_000)
  await recent(page, 'p').getByText('Expired, default applied: Wait').waitFor()
  t.equal(await page.title(), 'heads-up')
})

t.test('it is asked about again, in case this clock was early', async t => {
  const { page, server } = await visit(t, browser, { clock: true, before: server => server.enqueue({ id: 'p', expires_at: server.iso(60_000) }) })
  await live(page)
  const runMinute = async () => {
    for (let i = 0; i < 61; i++) {
      await page.clock.runFor(1_000)
      if (i % 15 === 0) server.write(': still here\n\n')
    }
  }
  const asked = () => server.seen.filter(({ url }) => url === '/api/tickets').length
  const before = asked()
  await runMinute()
  await server.when(() => asked() > before, 'a question that comes a minute too early')
  await page.waitForFunction('state.skew < -50000')
  server.quietly(() => server.expire('p'))
  await runMinute()
  await recent(page, 'p').waitFor()
  t.equal(await card(page, 'p').count(), 0)
})

t.test('an answer whose reply was lost is known again as one\'s own, and can be taken back', async t => {
  const { page, server, context } = await visit(t, browser, { before: server => ['o', 'p', 'q', 'r'].forEach(id => server.enqueue({ id, options: ['Yes', 'No'] })) })
  await live(page)
  // The server takes the answer, and the connection breaks before it has said so.
  const lose = async (id: string, isSaid: boolean) => {
    await context.route('**/api/answer', async route => {
      if (isSaid) server.answer(id, 'Yes')
      else server.quietly(() => server.answer(id, 'Yes'))
      await route.abort()
    }, { times: 1 })
  }
  await lose('o', false)
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await recent(page, 'o').getByText('You answered: Yes').waitFor() // as the list tells, which is read after such a failure
  await card(page, 'o').waitFor({ state: 'detached' })
  await context.route('**/api/tickets', route => route.abort())
  await lose('p', false)
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await card(page, 'p').getByText('Not confirmed: the server cannot be reached.').waitFor()
  server.write(`event: ticket\nid: 9\ndata: ${JSON.stringify(server.tickets.get('p'))}\n\n`)
  await recent(page, 'p').getByText('You answered: Yes').waitFor()
  await card(page, 'p').waitFor({ state: 'detached' })
  await page.keyboard.press('u')
  await card(page, 'p').waitFor()
  t.equal(server.tickets.get('p')!.status, 'pending')
  await lose('q', false)
  await card(page, 'q').getByRole('button', { name: 'Yes' }).click()
  await card(page, 'q').getByRole('button', { name: 'Answer' }).click()
  await card(page, 'q').getByText('Not confirmed').waitFor()
  await card(page, 'q').getByRole('button', { name: 'Answer' }).click()
  await recent(page, 'q').getByText('You answered: Yes').waitFor()
  t.equal(await card(page, 'q').count(), 0, 'asked again, it turns out to be sent')
  await lose('r', true)
  await card(page, 'r').getByRole('button', { name: 'Yes' }).click()
  await card(page, 'r').getByRole('button', { name: 'Answer' }).click()
  await recent(page, 'r').getByText('You answered: Yes').waitFor()
  await card(page, 'r').waitFor({ state: 'detached' })
})

t.test('with Caps Lock on, and on a keyboard of another script, the keys are where they are', async t => {
  const { page } = await visit(t, browser, { before: server => ['p', 'q', 'r'].forEach(id => server.enqueue({ id })) })
  await live(page)
  const press = (key: string, code: string) => page.evaluate(([key, code]) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: key!, code: code!, bubbles: true })), [key, code])
  const selected = () => page.locator('.card[aria-current=true]').getAttribute('data-id')
  await press('J', 'KeyJ')
  t.equal(await selected(), 'q')
  await press('\u043E', 'KeyJ')
  t.equal(await selected(), 'r')
  await press('\u043B', 'KeyK')
  t.equal(await selected(), 'q')
  await press('c', 'KeyJ')
  t.equal(await selected(), 'q', 'but a Latin letter is what it says, wherever it stands')
})

t.test('a failed answer is kept and said, and can be sent again', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p' }) })
  server.failNext = 503
  await card(page, 'p').getByRole('textbox').fill('mine')
  await page.keyboard.press('Enter')
  await card(page, 'p').getByText('Not sent: The disk is full: free some space.').waitFor()
  t.equal(await card(page, 'p').getByRole('textbox').inputValue(), 'mine')
  await card(page, 'p').getByRole('button', { name: 'Answer' }).click()
  await recent(page, 'p').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: 'mine' }])
})

t.test('a slow answer is sent once, however often it is asked for', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  let open = () => {}
  server.gate = new Promise(resolve => { open = resolve })
  await card(page, 'p').waitFor()
  await page.keyboard.press('1')
  for (let i = 0; i < 3; i++) await page.keyboard.press('Enter')
  await card(page, 'p').getByRole('button', { name: 'Sending …' }).click({ force: true })
  const posts = () => server.seen.filter(({ method }) => method === 'POST').length
  await server.when(() => posts() > 0, 'the answer is on its way')
  open()
  await recent(page, 'p').waitFor()
  t.equal(posts(), 1)
})
