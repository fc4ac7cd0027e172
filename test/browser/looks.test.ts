import { readFileSync } from 'node:fs'
import t from 'tap'
import { card, launchBrowser, live, recent, visit } from '../helpers/browser'
import { PHONE, fill, violations } from '../helpers/looks'

const browser = await launchBrowser(t)

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

t.test('on paper every card is whole, dark on light, without what could only be pressed', async t => {
  const { page } = await visit(t, browser, {
    context: { colorScheme: 'dark' }, before: server => { for (let i = 0; i < 12; i++) server.enqueue({ stream: `s${i % 3}`, options: ['Yes', 'No'], context: 'line\n'.repeat(8) }) }
  })
  await page.locator('.card').nth(11).waitFor()
  await page.emulateMedia({ media: 'print' })
  t.strictSame(await page.evaluate(() => [...new Set([...document.querySelectorAll('.card')].map(node => getComputedStyle(node).contentVisibility))]), ['visible'])
  t.equal(await page.evaluate(() => getComputedStyle(document.documentElement).color), 'rgb(30, 35, 38)')
  t.equal(await page.locator('.answer:visible, textarea:visible, select:visible, #say:visible').count(), 0)
  t.equal(await page.locator('.options button:visible').count(), 24, 'what could be answered is there')
})

t.test('a context has an edge where colours are forced', async t => {
  const { page } = await visit(t, browser, { context: { forcedColors: 'active' }, before: fill })
  await card(page, 'a').waitFor()
  t.equal(await card(page, 'a').locator('.context').evaluate(node => getComputedStyle(node).borderTopWidth), '1px')
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
