import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { card, launchBrowser, live, openPage, recent, visit } from '../helpers/browser'

const browser = await launchBrowser(t)

interface Reached { notes: Array<{ title: string, body: string }>, tones: number }

// What a test can neither see nor hear is written down by stand-ins; the page's own code decides all the same.
const watchReach = (context: BrowserContext): Promise<unknown> => context.addInitScript(() => {
  const reached: Reached = { notes: [], tones: 0 }
  class Note {
    static permission = 'default'
    static requestPermission = async () => (Note.permission = localStorage.getItem('test-refuses') ? 'denied' : 'granted')
    close () {}
    constructor (title: string, { body }: { body: string }) {
      reached.notes.push({ title, body })
      Object.assign(globalThis, { lastNote: this })
    }
  }
  Object.assign(globalThis, { reached, Notification: Note })
  OscillatorNode.prototype.start = () => { reached.tones++ }
  OscillatorNode.prototype.stop = () => {}
  document.hasFocus = () => !('isAway' in globalThis)
})

const reached = (page: Page): Promise<Reached> => page.evaluate('reached')
const leave = (page: Page): Promise<unknown> => page.evaluate('globalThis.isAway = true')
const box = (page: Page, name: string) => page.getByRole('checkbox', { name })

/** An arrival has been dealt with: announced, and whatever alert it was worth is out. */
async function dealtWith (page: Page): Promise<void> {
  await page.getByRole('status').getByText(/new tickets?/).waitFor()
  await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 800)))
}

async function choose (page: Page, ...names: string[]): Promise<void> {
  await page.getByRole('button', { name: 'Alerts' }).click()
  for (const name of names) await box(page, name).check()
  await page.locator('#alerts-close').click()
}

t.test('the icon counts, and tells what is blocking by its shape, too', async t => {
  const { page, server } = await visit(t, browser)
  await live(page)
  const icon = async () => decodeURIComponent((await page.locator('#icon').getAttribute('href'))!)
  const plain = await icon()
  server.enqueue({ id: 'p' })
  await card(page, 'p').waitFor()
  t.match(await icon(), /<circle .*>1<\/text>/)
  server.enqueue({ id: 'q', urgency: 'blocking' })
  await card(page, 'q').waitFor()
  t.match(await icon(), /<rect .*>2<\/text>/)
  for (const id of ['p', 'q']) server.cancel(id)
  await recent(page, 'q').waitFor()
  t.equal(await icon(), plain)
  for (let i = 0; i < 120; i++) server.enqueue({ stream: `s${i}` })
  await page.waitForFunction(() => document.title.startsWith('(120)'))
  t.match(await icon(), />99\+<\/text>/)
  t.equal(await page.evaluate(() => new Promise(resolve => {
    const image = new Image()
    image.onload = () => resolve('drawn')
    image.onerror = () => resolve('broken')
    image.src = document.querySelector<HTMLLinkElement>('#icon')!.href
  })), 'drawn', 'the policy lets it in, and it can be drawn')
})

t.test('nothing alerts until it is asked for', async t => {
  const { page, server, context } = await visit(t, browser)
  await watchReach(context)
  await page.reload()
  await live(page)
  await leave(page)
  server.enqueue({ urgency: 'blocking' })
  await dealtWith(page)
  t.strictSame(await reached(page), { notes: [], tones: 0 })
})

t.test('a burst is one notification and one sound, of the urgencies that were chosen; the choice is kept', async t => {
  const { page, server, context } = await visit(t, browser)
  await watchReach(context)
  await page.reload()
  await live(page)
  await choose(page, 'Notification for blocking tickets', 'Notification for low tickets', 'Sound for blocking tickets')
  await page.waitForFunction(() => (globalThis as unknown as { reached: Reached }).reached.tones === 2) // choosing a sound lets it be heard
  await page.reload()
  await live(page)
  await page.evaluate(() => { (Notification as unknown as { permission: string }).permission = 'granted' })
  await page.getByRole('button', { name: 'Alerts' }).click()
  t.strictSame(await page.getByRole('checkbox').evaluateAll(boxes => boxes.filter(box => (box as HTMLInputElement).checked).map(box => box.getAttribute('aria-label'))),
    ['Notification for blocking tickets', 'Sound for blocking tickets', 'Notification for low tickets'])
  await page.keyboard.press('Escape')
  await leave(page)
  server.enqueue({ id: 'a', stream: 'al\u202Epha', question: '<b>Now?</b>', urgency: 'blocking' })
  for (let i = 0; i < 5; i++) server.enqueue({ urgency: i % 2 ? 'normal' : 'low' })
  await dealtWith(page)
  t.strictSame(await reached(page), { notes: [{ title: '4 new tickets, 1 blocking', body: 'al⟨U+202E⟩pha: <b>Now?</b>' }], tones: 2 })
  await page.evaluate('lastNote.onclick()')
  t.equal(await page.locator('.card[aria-current=true]').getAttribute('data-id'), 'a', 'it leads to the ticket')
})

t.test('none while the page is in front, in whichever tab, and of many tabs one alerts', async t => {
  const { page, server, context } = await visit(t, browser)
  await watchReach(context)
  await page.reload()
  await live(page)
  await choose(page, 'Notification for normal tickets')
  const tabs = [page, await openPage(t, context, server.url), await openPage(t, context, server.url)]
  for (const tab of tabs) {
    await live(tab)
    await tab.evaluate(() => { (Notification as unknown as { permission: string }).permission = 'granted' })
  }
  const notes = async () => (await Promise.all(tabs.map(tab => reached(tab)))).flatMap(({ notes }) => notes).length
  for (const tab of tabs.slice(0, 2)) await leave(tab)
  server.enqueue()
  for (const tab of tabs) await dealtWith(tab)
  t.equal(await notes(), 0, 'the third is looked at')
  await leave(tabs[2]!)
  await page.evaluate('alerts.frontAt = -Infinity') // two seconds later
  for (const tab of tabs) await tab.evaluate(() => { document.getElementById('say')!.textContent = '' })
  server.enqueue()
  for (const tab of tabs) await dealtWith(tab)
  t.equal(await notes(), 1)
})

t.test('a browser that does not notify is said to, and the box stays empty', async t => {
  const { page, context } = await visit(t, browser)
  await watchReach(context)
  await page.evaluate(() => localStorage.setItem('test-refuses', 'yes'))
  await page.reload()
  await live(page)
  await page.getByRole('button', { name: 'Alerts' }).click()
  await box(page, 'Notification for blocking tickets').click()
  await page.getByText('Notifications are blocked for this page').waitFor()
  t.equal(await box(page, 'Notification for blocking tickets').isChecked(), false)
  t.equal(await page.evaluate(() => localStorage.getItem('readyroom-alerts:/')), null)
})
