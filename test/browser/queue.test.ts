import type { Page } from 'playwright-core'
import t from 'tap'
import { card, launchBrowser, live, openPage, recent, visit } from '../helpers/browser'

const browser = await launchBrowser(t)
const MINUTE = 60_000

const ids = (page: Page): Promise<Array<string | null>> => page.locator('.card').evaluateAll(cards => cards.map(c => c.getAttribute('data-id')))
const topOf = (page: Page, id: string): Promise<number> => card(page, id).evaluate(c => c.getBoundingClientRect().top)
const selected = (page: Page): Promise<string | null> => page.locator('.card[aria-current=true]').getAttribute('data-id')

t.test('fifteen agents at once change nothing under the pointer; the bar counts them and shows them when asked', async t => {
  const { page, server } = await visit(t, browser, { before: server => ['p', 'q'].forEach(id => server.enqueue({ id, options: ['Yes', 'No'] })) })
  await live(page)
  await card(page, 'q').hover()
  const before = await topOf(page, 'q')
  for (let i = 0; i < 15; i++) server.enqueue({ id: `n${i}`, stream: `agent ${i}`, urgency: i === 3 || i === 9 ? 'blocking' : 'normal' })
  const bar = page.getByRole('button', { name: '15 new, 2 blocking. Show' })
  await bar.waitFor()
  t.strictSame(await ids(page), ['p', 'q'])
  t.equal(await topOf(page, 'q'), before)
  t.equal(await page.title(), '(17) heads-up', 'they count all the same')
  server.answer('p', 'elsewhere')
  await recent(page, 'p').waitFor()
  t.ok(Math.abs(await topOf(page, 'q') - before) < 1, 'nor does it move when the card above it goes')
  server.cancel('n9')
  await page.getByRole('button', { name: '14 new, 1 blocking. Show' }).click()
  await card(page, 'n14').waitFor()
  t.equal(await page.locator('.card').count(), 15)
  t.equal(await selected(page), 'n3', 'what is blocking is selected')
  t.equal(await page.locator('#arrivals').isVisible(), false)
})

t.test('arrivals come in by themselves once nobody is at a ticket any more', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p' }) })
  await live(page)
  await card(page, 'p').locator('.act textarea').fill('half')
  server.enqueue({ id: 'n', stream: 'newcomer' })
  await page.getByRole('button', { name: '1 new. Show' }).waitFor()
  await card(page, 'p').locator('.act textarea').fill('')
  await page.evaluate(() => (document.activeElement as HTMLElement).blur())
  await card(page, 'n').waitFor()
  t.strictSame(await ids(page), ['n', 'p'])
})

t.test('n shows what is new', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await live(page)
  await page.keyboard.press('1')
  server.enqueue({ id: 'n', stream: 'newcomer' })
  await page.getByRole('button', { name: '1 new. Show' }).waitFor()
  await page.keyboard.press('n')
  await card(page, 'n').waitFor()
  t.equal(await selected(page), 'n')
  t.equal(await card(page, 'p').locator('[aria-pressed=true]').count(), 1, 'what was picked stays picked')
  t.equal(server.answers.length, 0)
})

t.test('a double click on Answer does not answer the ticket that comes under the pointer', async t => {
  const { page, server } = await visit(t, browser, { before: server => ['p', 'q'].forEach(id => server.enqueue({ id, options: ['Yes', 'No'] })) })
  await card(page, 'q').getByRole('button', { name: 'Yes' }).click()
  await card(page, 'p').getByRole('button', { name: 'No' }).click()
  const button = (await card(page, 'p').getByRole('button', { name: 'Answer' }).boundingBox())!
  await page.mouse.move(button.x + 20, button.y + 20)
  await page.mouse.down()
  await page.mouse.up()
  await page.waitForSelector('.card[data-id="p"]', { state: 'detached' })
  await page.mouse.down()
  await page.mouse.up()
  await recent(page, 'p').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: 'No' }])
  t.equal(server.tickets.get('q')!.status, 'pending')
})

t.test('with more than a screenful, the queue can be filtered by stream and by urgency, and shown whole again', async t => {
  const { page, server } = await visit(t, browser, {
    before: server => ['alpha', 'beta'].forEach(stream => ['low', 'normal', 'blocking'].forEach(urgency =>
      server.enqueue({ id: `${stream}-${urgency}`, stream, urgency: urgency as 'low', created_at: server.iso(-MINUTE) })))
  })
  await card(page, 'alpha-low').waitFor()
  await page.getByRole('combobox', { name: 'Urgency' }).selectOption('blocking')
  t.strictSame(await ids(page), ['alpha-blocking', 'beta-blocking'])
  t.equal(await page.locator('#count').textContent(), '2 of 6 pending')
  t.equal(await page.locator('.stream .many').first().textContent(), '1 of 3 tickets')
  t.equal(await selected(page), 'alpha-blocking', 'keys act on what is shown')
  await page.getByRole('combobox', { name: 'Stream' }).selectOption('beta')
  t.strictSame(await ids(page), ['beta-blocking'])
  server.answer('beta-blocking', 'elsewhere')
  await page.getByText('No ticket matches the filter.').waitFor()
  t.equal(await page.title(), '(5) heads-up')
  await page.getByRole('button', { name: 'Show all' }).click()
  t.equal(await page.locator('.card').count(), 5)
  for (const id of ['alpha-low', 'alpha-normal', 'alpha-blocking']) server.cancel(id)
  await card(page, 'alpha-normal').waitFor({ state: 'detached' })
  t.equal(await page.getByRole('combobox', { name: 'Stream' }).isVisible(), false)
  t.strictSame(await ids(page), ['beta-low', 'beta-normal'], 'two need no filter')
})

t.test('blocking first is a choice, and the browser keeps it', async t => {
  const { page } = await visit(t, browser, {
    before: server => ['a', 'b', 'c', 'd'].forEach((id, i) => server.enqueue({ id, urgency: id === 'c' ? 'blocking' : 'normal', created_at: server.iso(i * 1_000 - MINUTE) }))
  })
  await card(page, 'a').waitFor()
  t.strictSame(await ids(page), ['a', 'b', 'c', 'd'])
  const button = page.getByRole('button', { name: 'Blocking first' })
  await button.click()
  t.strictSame(await ids(page), ['c', 'a', 'b', 'd'])
  await page.reload()
  await card(page, 'a').waitFor()
  t.strictSame(await ids(page), ['c', 'a', 'b', 'd'])
  t.equal(await button.getAttribute('aria-pressed'), 'true')
  await button.click()
  t.strictSame(await ids(page), ['a', 'b', 'c', 'd'])
})

t.test('a reload keeps drafts, picks, caret, focus and scroll; a draft goes with its answer', async t => {
  const { page, server } = await visit(t, browser, {
    context: { viewport: { width: 1_000, height: 500 } }, before: server => ['p', 'q', 'r', 's'].forEach(id => server.enqueue({ id, options: ['Yes', 'No'] }))
  })
  await card(page, 'p').getByRole('button', { name: 'No' }).click()
  const field = card(page, 'r').locator('.act textarea')
  await field.fill('half a thought')
  await field.evaluate(node => (node as HTMLTextAreaElement).setSelectionRange(5, 6))
  const before = await topOf(page, 'r')
  await page.reload()
  await card(page, 'r').waitFor()
  t.equal(await field.inputValue(), 'half a thought')
  t.strictSame(await field.evaluate(node => {
    const { selectionStart, selectionEnd } = node as HTMLTextAreaElement
    return [selectionStart, selectionEnd, document.activeElement === node]
  }), [5, 6, true])
  t.ok(Math.abs(await topOf(page, 'r') - before) < 2, 'where it was')
  t.equal(await card(page, 'p').getByRole('button', { name: 'No' }).getAttribute('aria-pressed'), 'true')
  await page.keyboard.press('Enter')
  await page.getByText('Press Enter once more to send what already stood here.').waitFor()
  await page.keyboard.press('Enter')
  await recent(page, 'r').waitFor()
  t.strictSame(server.answers, [{ id: 'r', answer: 'half a thought' }])
  const kept = () => page.evaluate(() => Object.keys(sessionStorage).filter(key => key.startsWith('readyroom-draft:')))
  t.strictSame(await kept(), ['readyroom-draft:/:p'])
  await card(page, 'p').getByRole('button', { name: 'Answer' }).click()
  await recent(page, 'p').waitFor()
  t.strictSame(await kept(), [])
})

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
  for (let minute = 0; minute < 4; minute++) {
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

t.test('a long answer can be read whole', async t => {
  const answer = 'word '.repeat(300)
  const { page } = await visit(t, browser, { before: server => { server.enqueue({ id: 'p' }); server.answer('p', answer) } })
  const outcome = recent(page, 'p').locator('.outcome')
  await outcome.waitFor()
  const height = () => outcome.evaluate(node => node.clientHeight)
  const before = await height()
  await recent(page, 'p').getByRole('button', { name: 'Show all of the answer' }).click()
  t.ok(await height() > before * 2)
  t.equal(await outcome.textContent(), `A person answered: ${answer}`)
})

t.test('64 KiB in one line, or in as many lines as fit, freeze nothing', async t => {
  const texts = ['x'.repeat(65_536), `${'l\n'.repeat(20_000)}end`]
  const { page } = await visit(t, browser, { before: server => texts.forEach((context, i) => server.enqueue({ id: `p${i}`, context, options: ['Yes', 'No'] })) })
  for (const [i, text] of texts.entries()) {
    const p = card(page, `p${i}`)
    await p.waitFor()
    t.ok((await p.locator('.context').textContent())!.length < 1_100, 'folded')
    await p.getByRole('button', { name: 'Show all of the context' }).click()
    await page.waitForFunction(([id, length]) => document.querySelector(`.card[data-id="${id}"] .context`)!.textContent!.length === length, [`p${i}`, text.length] as const)
    t.equal(await p.locator('.context').textContent(), text)
  }
  t.equal(await page.locator('.context .part').count(), 201, 'many lines are laid out by the hundred')
  const start = performance.now()
  await page.keyboard.press('2')
  await page.locator('[aria-pressed=true]').waitFor()
  t.ok(performance.now() - start < 1_000)
})
