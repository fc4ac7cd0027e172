import type { BrowserContextOptions } from 'playwright-core'
import t from 'tap'
import { card, launchBrowser, live, recent, visit } from '../helpers/browser'
import { PHONE, fill, violations } from '../helpers/looks'

t.setTimeout(300_000) // six looks of eight states each: more than a busy machine does in the usual time
const browser = await launchBrowser(t)

const THEMES: Record<string, BrowserContextOptions> = { light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, 'forced colours': { forcedColors: 'active' } }
const SIZES: Record<string, BrowserContextOptions> = { 'a desktop': {}, 'a phone': PHONE }
const LOOKS = Object.entries(THEMES).flatMap(([theme, look]) => Object.entries(SIZES).map(([size, shape]) => ({ name: `${theme}, on ${size}`, look: { ...look, ...shape } })))

// The checker itself is a script that the policy would not let in: here alone the policy is off.
for (const { name, look } of LOOKS) {
  t.test(`axe finds nothing in any state: ${name}`, async t => {
    const { page, server } = await visit(t, browser, { context: { ...look, bypassCSP: true }, before: fill })
    await live(page)
    await recent(page, 'd').waitFor()
    const media = await page.evaluate(() => ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(pointer: coarse)'].map(query => matchMedia(query).matches))
    t.strictSame(media, [look.colorScheme === 'dark', look.forcedColors === 'active', look.hasTouch === true], 'it looks as it is meant to')
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
    for (let i = 0; i < 9; i++) server.enqueue({ stream: i === 0 ? 'one' : 'many', options: ['Yes', 'No'], urgency: i > 7 ? 'blocking' : 'normal' })
    await page.getByRole('button', { name: 'Show more of these 8 tickets; 1 blocking not among them' }).waitFor()
    await page.locator('#filter-stream').selectOption('many')
    await page.getByRole('button', { name: 'Show what was settled before' }).click()
    await page.getByText('There is nothing older').waitFor()
    await page.locator('.card').first().locator('.act textarea').fill('half')
    server.enqueue({ stream: 'newcomer' })
    await page.getByRole('button', { name: '1 new. Show' }).waitFor()
    t.strictSame(await violations(page), [], 'filter, bar and history')
    server.isDown = true
    server.dropStreams()
    await page.locator('.feed.offline').waitFor()
    t.strictSame(await violations(page), [], 'offline')
    server.isDown = false
    server.token = 'a token'
    server.dropStreams()
    await page.getByLabel('Token').waitFor()
    t.strictSame(await violations(page), [], 'token')
  })
}
