import type { Page } from 'playwright-core'
import t from 'tap'
import { card, launchBrowser, live, openPage, recent, visit } from '../helpers/browser'

const browser = await launchBrowser(t)
const MINUTE = 60_000

const ids = (page: Page): Promise<Array<string | null>> => page.locator('.card').evaluateAll(cards => cards.map(c => c.getAttribute('data-id')))
const selected = (page: Page): Promise<string | null> => page.locator('.card[aria-current=true]').getAttribute('data-id')

t.test('a draft whose ticket was settled while the page was away is still there to be copied', async t => {
  const { page, server, context } = await visit(t, browser, { before: server => ['p', 'q', 'r'].forEach(id => server.enqueue({ id })) })
  for (const id of ['p', 'q']) await card(page, id).getByRole('textbox').fill(`mine for ${id}`)
  await context.setOffline(true)
  server.answer('p', 'Theirs')
  server.cancel('q')
  server.change({ ...server.tickets.get('q')!, cancelled_at: server.iso(-10 * MINUTE) }) // no list tells of it any more
  await context.setOffline(false)
  await page.reload()
  for (const id of ['p', 'q']) {
    await card(page, id).locator('.closed').waitFor()
    t.equal(await card(page, id).locator('.kept').inputValue(), `mine for ${id}`)
    await card(page, id).getByRole('button', { name: 'Dismiss' }).click()
  }
  await page.reload()
  await card(page, 'r').waitFor()
  t.strictSame(await ids(page), ['r'])
})

t.test('a link leads to its ticket: pending, behind a filter or the last of many, settled, or unknown', async t => {
  const { page, server, context } = await visit(t, browser, {
    before: server => {
      for (let i = 0; i < 60; i++) server.enqueue({ id: `t${i}`, stream: `s${i % 3}` })
      server.enqueue({ id: 'done' })
      server.answer('done', 'Yes')
      server.enqueue({ id: 'old' })
      server.change({ ...server.answer('old', 'Long ago'), answered_at: server.iso(-600 * MINUTE) })
    }
  })
  await live(page)
  const focused = (tab: Page) => tab.evaluate(() => document.activeElement?.getAttribute('data-id'))
  const tab = await openPage(t, context, `${server.url}#ticket=t59`)
  await card(tab, 't59').waitFor()
  t.equal(await selected(tab), 't59')
  t.equal(await focused(tab), 't59')
  await tab.getByRole('combobox', { name: 'Stream' }).selectOption('s1')
  await tab.evaluate(() => { location.hash = '#ticket=t0' })
  await tab.waitForFunction(() => document.activeElement?.getAttribute('data-id') === 't0')
  t.equal(await tab.getByRole('combobox', { name: 'Stream' }).inputValue(), '')
  await tab.evaluate(() => { location.hash = '#ticket=done' })
  await tab.waitForFunction(() => document.activeElement?.matches('#recent li[data-id=done]'))
  await tab.evaluate(() => { location.hash = '#ticket=old' })
  await card(tab, 'old').locator('.outcome').getByText('Already answered: Long ago').waitFor()
  await tab.evaluate(() => { location.hash = '#ticket=nothing%20known' })
  await tab.getByText('The ticket that the address names is not known here.').waitFor()
  t.equal(server.answers.length, 0)
})

t.test('a thousand tickets: thirty cards or so are built, the rest is a key or a button away, and an event touches its own ticket only', async t => {
  const { page, server } = await visit(t, browser, {
    before: server => { for (let i = 0; i < 1_000; i++) server.enqueue({ id: `t${i}`, stream: `s${String(i % 50).padStart(2, '0')}`, created_at: server.iso(-2 * MINUTE) }) }
  })
  await live(page)
  await page.getByRole('button', { name: /^Show more: 30 of 1000 tickets are here$/ }).waitFor()
  t.equal(await page.title(), '(1000) heads-up')
  t.equal(await page.locator('#count').textContent(), '1000 pending')
  await page.evaluate(() => {
    const touched = new Set<string>()
    Object.assign(globalThis, { touched })
    new MutationObserver(changes => changes.forEach(({ target }) => {
      const id = (target as Element).closest?.('.card')?.getAttribute('data-id')
      if (id) touched.add(id)
    })).observe(document.getElementById('queue')!, { subtree: true, childList: true, attributes: true, characterData: true })
  })
  const [id] = await ids(page)
  server.change({ ...server.tickets.get(id!)!, question: 'Changed?' })
  await card(page, id!).getByText('Changed?').waitFor()
  t.strictSame(await page.evaluate(() => [...(globalThis as unknown as { touched: Set<string> }).touched]), [id])
  const first = page.locator('.stream').first()
  await first.getByRole('button', { name: 'Show more of these 20 tickets' }).click()
  t.equal(await first.locator('.card').count(), 20)
  const before = await page.locator('.card').count()
  await page.getByRole('button', { name: /^Show more: / }).click()
  t.ok(await page.locator('.card').count() > before)
  await page.locator('.card').last().evaluate(node => (node as HTMLElement).focus())
  const last = await selected(page)
  await page.keyboard.press('j')
  t.not(await selected(page), last, 'j goes on where the cards end')
})

t.test('what is blocking never stands behind a button that does not say so, and the button leads to it', async t => {
  const { page, server } = await visit(t, browser, {
    before: server => { for (let i = 0; i < 8; i++) server.enqueue({ id: `t${i}`, created_at: server.iso(i * 1_000 - MINUTE) }) }
  })
  await live(page)
  await page.getByRole('button', { name: 'Show more of these 8 tickets', exact: true }).waitFor()
  server.enqueue({ id: 'b', urgency: 'blocking' })
  await page.getByText('9 pending, 1 blocking').waitFor()
  const more = page.getByRole('button', { name: 'Show more of these 9 tickets; 1 blocking not among them' })
  await more.waitFor()
  await page.getByRole('combobox', { name: 'Urgency' }).selectOption('normal')
  await page.getByRole('button', { name: 'Show more of these 8 tickets', exact: true }).waitFor()
  await page.getByRole('combobox', { name: 'Urgency' }).selectOption('')
  await more.click()
  await card(page, 'b').waitFor()
  t.equal(await selected(page), 'b')
  for (let i = 0; i < 70; i++) server.enqueue({ stream: `s${String(i).padStart(2, '0')}`, created_at: server.iso(i * 1_000 - 10 * MINUTE), urgency: i === 0 ? 'blocking' : 'low' })
  await page.getByRole('button', { name: /^70 new, 1 blocking/ }).waitFor()
  await page.evaluate(() => (document.activeElement as HTMLElement).blur())
  await page.mouse.move(0, 0)
  await page.getByRole('button', { name: /^Show more: .* of 79 tickets are here; 1 blocking not among them$/ }).waitFor()
  server.cancel('t0')
  await page.getByRole('button', { name: /^Show more: .* of 78 tickets are here; 1 blocking not among them$/ }).waitFor()
})

t.test('what was settled before is read when it is asked for, a page at a time', async t => {
  const { page, server, context } = await visit(t, browser, {
    before: server => {
      for (let i = 0; i < 60; i++) {
        server.enqueue({ id: `h${i}` })
        server.change({ ...server.answer(`h${i}`, `Answer ${i}`), answered_at: server.iso(-60 * MINUTE) })
      }
      server.enqueue({ id: 'new' })
      server.answer('new', 'just now')
    }
  })
  await recent(page, 'new').waitFor()
  t.notOk(server.seen.some(({ url }) => url.includes('history')))
  const items = page.locator('#history-list li')
  await context.route('**/api/history?**', route => route.abort(), { times: 1 })
  await page.getByRole('button', { name: 'Show what was settled before' }).click()
  await page.getByText('Not read: the server cannot be reached.').waitFor()
  await page.getByRole('button', { name: 'Show what was settled before' }).click()
  await items.first().waitFor()
  t.equal(await items.count(), 49, 'what is recent stands above already')
  t.match(await items.first().locator('.outcome').textContent(), 'A person answered: Answer 59')
  t.equal(await items.first().getByRole('button', { name: 'Undo' }).count(), 0)
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByText('There is nothing older').waitFor()
  t.equal(await items.count(), 60)
})

t.test('what is recent no longer goes on top of the history that was read; after a long break that is read anew', async t => {
  const { page, server } = await visit(t, browser, {
    clock: true,
    before: server => {
      server.enqueue({ id: 'old' })
      server.change({ ...server.answer('old', 'Long ago'), answered_at: server.iso(-60 * MINUTE) })
      ;['p', 'q'].forEach((id, i) => { server.enqueue({ id }); server.change({ ...server.answer(id, 'Yes'), answered_at: server.iso(i * 1_000 - 2 * MINUTE) }) })
    }
  })
  await live(page)
  const before = () => page.locator('#history-list li').evaluateAll(items => items.map(item => item.getAttribute('data-id')))
  await page.getByRole('button', { name: 'Show what was settled before' }).click()
  await page.getByText('There is nothing older').waitFor()
  t.strictSame(await before(), ['old'])
  // A minute more than it takes: when the page asks for the time in the last of them, the server is a minute behind.
  for (let minute = 0; minute < 5; minute++) {
    await page.clock.runFor(MINUTE)
    server.skewMs += MINUTE
    server.write(': still here\n\n')
  }
  t.strictSame(await before(), ['q', 'p', 'old'])
  t.equal(await page.locator('#recent').isVisible(), false)
  await page.clock.fastForward(10 * MINUTE)
  await page.clock.runFor(2_000)
  await page.getByRole('button', { name: 'Show what was settled before' }).waitFor()
  t.strictSame(await before(), [])
})
