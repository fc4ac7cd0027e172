import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import { card, launchBrowser, live, recent, visit } from '../helpers/browser'
import type { PageServer } from '../helpers/page-server'

const browser = await launchBrowser(t)
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const PHONE: BrowserContextOptions = { viewport: { width: 375, height: 667 }, isMobile: true, hasTouch: true }

function fill (server: PageServer): void {
  const long = Array.from({ length: 40 }, (_, i) => `line ${i} of what the build said`).join('\n')
  server.enqueue({ id: 'a', stream: 'payments', question: 'Run the migration now?', options: ['Now', 'After six', 'Never'], default_answer: 'Never', urgency: 'blocking', context: long })
  server.enqueue({ id: 'b', stream: 'payments', question: 'Which name?', urgency: 'low' })
  server.enqueue({ id: 'c', stream: 'docs', question: 'Raise the minimum version?', options: ['Yes', 'No'] })
  server.enqueue({ id: 'd', stream: 'docs' })
  server.answer('d', 'As you like')
}

async function violations (page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations, passes } = await page.evaluate(() => (globalThis as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run())
  if (passes.length < 10) throw new Error('axe has looked at nothing')
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`)
}

// The checker itself is a script that the policy would not let in: here alone the policy is off.
for (const look of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { forcedColors: 'active' }, PHONE] satisfies BrowserContextOptions[]) {
  t.test(`axe finds nothing in any state: ${JSON.stringify(look)}`, async t => {
    const { page, server } = await visit(t, browser, { context: { ...look, bypassCSP: true }, before: fill })
    await live(page)
    await recent(page, 'd').waitFor()
    t.strictSame(await violations(page), [], 'queue and recent')
    await card(page, 'a').getByRole('button', { name: 'Now' }).click()
    await card(page, 'a').getByRole('button', { name: 'Show all of the context' }).click()
    await card(page, 'b').getByRole('textbox').fill('mine')
    server.answer('b', 'theirs')
    await card(page, 'b').locator('.outcome').waitFor()
    t.strictSame(await violations(page), [], 'picked, unfolded, decided elsewhere')
    await page.getByRole('button', { name: 'Keys' }).click()
    t.strictSame(await violations(page), [], 'dialog')
    await page.keyboard.press('Escape')
    for (const id of ['a', 'c']) server.cancel(id)
    for (const id of ['a', 'b']) await card(page, id).getByRole('button', { name: 'Dismiss' }).click()
    await page.getByText('Nothing is waiting for you.').waitFor()
    t.strictSame(await violations(page), [], 'empty')
    await page.getByRole('button', { name: 'Alerts' }).click()
    t.strictSame(await violations(page), [], 'alerts')
    await page.keyboard.press('Escape')
    for (let i = 0; i < 40; i++) server.enqueue({ stream: `s${i}`, options: ['Yes', 'No'] })
    await page.locator('#more').waitFor()
    await page.locator('#filter-urgency').selectOption('normal')
    await page.getByRole('button', { name: 'Show what was settled before' }).click()
    await page.getByText('There is nothing older').waitFor()
    await page.locator('.card').first().locator('.act textarea').fill('half')
    server.enqueue({ stream: 'newcomer' })
    await page.getByRole('button', { name: '1 new. Show' }).waitFor()
    t.strictSame(await violations(page), [], 'filter, bar and history')
    server.token = 'a token'
    server.dropStreams()
    await page.getByLabel('Token').waitFor()
    t.strictSame(await violations(page), [], 'token')
  })
}

t.test('on a phone every target is 44 px, text in fields is 16 px, and nothing is wider than the screen', async t => {
  for (const width of [375, 320]) {
    const { page } = await visit(t, browser, { context: { ...PHONE, viewport: { width, height: 667 } }, before: fill })
    await recent(page, 'd').waitFor()
    const small = await page.evaluate(() => [...document.querySelectorAll('button, textarea, input')].filter(node => {
      const { width, height } = node.getBoundingClientRect()
      return width > 0 && (width < 44 || height < 44)
    }).map(node => node.outerHTML))
    t.strictSame(small, [])
    t.strictSame(await page.evaluate(() => [...new Set([...document.querySelectorAll('textarea, input')].map(n => getComputedStyle(n).fontSize))]), ['16px'])
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), width)
  }
})

t.test('a newcomer is told how to wire the first agent, with words that fit the place', async t => {
  const { page, server, context } = await visit(t, browser, { context: { ...PHONE, bypassCSP: true }, prefix: '/ready' })
  await page.getByText('Nothing is waiting for you.').waitFor()
  t.equal(await page.locator('#wire').getAttribute('open'), '')
  t.strictSame(await page.locator('.snippet').allTextContents(), [
    'claude mcp add readyroom -- npx -y readyroom',
    `claude mcp add --transport http readyroom ${server.url}mcp/my-project --header "Origin: ${server.origin}"`
  ])
  t.strictSame(await violations(page), [])
  await page.getByRole('button', { name: 'Copy the command' }).first().click()
  await page.getByText('Copied.').waitFor()
  server.enqueue({ id: 'p' })
  await card(page, 'p').waitFor()
  t.equal(await page.locator('#wire').isVisible(), false)
  server.cancel('p')
  await card(page, 'p').waitFor({ state: 'detached' })
  t.equal(await page.locator('#wire').getAttribute('open'), null, 'who has had a ticket is no newcomer')
  await context.setOffline(true)
})

t.test('with the keyboard of a phone up, question, field and button are in sight together', async t => {
  const { page, server } = await visit(t, browser, {
    context: PHONE,
    before: server => ['p', 'q', 'r', 's'].forEach(id => server.enqueue({
      id, question: 'Which of the three ways shall I take with the migration?', options: ['One', 'Two', 'Three'], context: 'line\n'.repeat(9)
    }))
  })
  const s = card(page, 's')
  await s.locator('.act textarea').tap()
  // As `interactive-widget=resizes-content` has it: 260 px of keyboard.
  await page.setViewportSize({ width: 375, height: 407 })
  await page.waitForFunction(() => document.documentElement.classList.contains('keyboard'))
  const boxes = await s.evaluate(node => ['.question', '.act textarea', '.answer'].map(part => {
    const { top, bottom } = node.querySelector(part)!.getBoundingClientRect()
    return { top, bottom }
  }))
  t.ok(boxes.every(({ top, bottom }) => top >= 0 && bottom <= 407), JSON.stringify(boxes))
  t.ok(boxes[0]!.bottom <= boxes[1]!.top + 1, 'none covers another')
  t.equal(await s.locator('.act textarea').getAttribute('enterkeyhint'), 'send')
  t.equal(await page.evaluate(() => visualViewport!.scale), 1)
  await page.keyboard.type('The second')
  await page.keyboard.press('Enter')
  await recent(page, 's').waitFor()
  t.strictSame(server.answers, [{ id: 's', answer: 'The second' }])
})

t.test('at 200 % on a small screen nothing is cut off or wider than the screen, in any state', async t => {
  const { page, server } = await visit(t, browser, { context: { viewport: { width: 320, height: 400 }, deviceScaleFactor: 2 } })
  const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, Math.max(0, ...[...document.querySelectorAll('dialog[open], #arrivals')].map(n => n.getBoundingClientRect().right))])
  const fits = async (what: string) => t.ok((await widths()).every(width => width <= 320), what)
  await page.getByText('Nothing is waiting for you.').waitFor()
  await fits('empty')
  fill(server)
  for (const id of ['x', 'y']) server.enqueue({ id, stream: 'w'.repeat(100) })
  await page.locator('#filter-stream').waitFor()
  await fits('queue')
  await page.getByRole('button', { name: 'Alerts' }).click()
  await fits('alerts')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Keys' }).click()
  await fits('keys')
  await page.keyboard.press('Escape')
  await page.keyboard.press('1')
  server.enqueue({ urgency: 'blocking' })
  await page.locator('#arrivals').waitFor()
  await fits('bar')
  server.token = 'a token'
  server.dropStreams()
  await page.getByLabel('Token').waitFor()
  await page.getByText('READYROOM_TOKEN', { exact: true }).waitFor()
  await fits('token')
})

t.test('words without a break and piles of marks stay in their box', async t => {
  const { page } = await visit(t, browser, {
    context: PHONE,
    before: server => server.enqueue({ id: 'p', stream: 'w'.repeat(100), question: 'q'.repeat(2_000), options: ['o'.repeat(200), 'e' + '\u0301'.repeat(199)], context: 'c'.repeat(5_000), default_answer: 'd'.repeat(500) })
  })
  await card(page, 'p').waitFor()
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 375)
})

t.test('a single letter that is wider than the screen stays in its box, wherever it stands', async t => {
  // No line breaks inside either: marks that a font draws beside the letter, and people joined into a family that no font has.
  for (const wide of ['Z' + '\u0336\u0489'.repeat(49), '\u{1F469}' + '\u200D\u{1F469}'.repeat(40)]) {
    const { page, server } = await visit(t, browser, {
      context: PHONE,
      before: server => server.enqueue({ id: 'p', stream: wide, question: wide, options: [wide, `${wide}.`], context: wide, default_answer: wide })
    })
    const width = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)
    await card(page, 'p').waitFor()
    t.equal(await width(), 375)
    await card(page, 'p').locator('.options button').first().click()
    await card(page, 'p').getByRole('button', { name: 'Answer' }).click()
    await recent(page, 'p').waitFor()
    t.equal(server.answers[0]?.answer, wide)
    t.equal(await width(), 375, 'settled, and announced')
  }
})

t.test('nothing moves by itself, whoever asks', async t => {
  const { page } = await visit(t, browser, { before: fill })
  await live(page)
  t.equal(await page.evaluate(() => [...document.querySelectorAll('*')].filter(n => {
    const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(n)
    return animationName !== 'none' || transitionDuration !== '0s' || scrollBehavior !== 'auto'
  }).length), 0)
})

t.test('the file asks for nothing outside and holds no way to make markup from text', t => {
  const html = readFileSync(new URL('../../public/index.html', import.meta.url), 'utf8')
  t.notMatch(html, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|requestAnimationFrame|\beval\b|new Function/)
  t.notMatch(html.replaceAll("xmlns='http://www.w3.org/2000/svg'", ''), /https?:\/\//)
  t.notMatch(html, /\s(?:style|on[a-z]+)=/)
  t.end()
})
