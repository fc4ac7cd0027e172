import t from 'tap'
import { launchBrowser, live } from '../helpers/browser'
import { openConsole } from '../helpers/consoles'

const browser = await launchBrowser(t)

t.test('on an open loopback it needs no token, and shows what is said the moment it is said', async t => {
  const { open, call } = await openConsole(t, browser)
  const { page } = await open('/ui')
  await live(page)
  await page.getByText('Nobody has said anything here yet.').waitFor()
  await call('messages', { body: 'The build is green.' })
  await page.getByText('The build is green.').waitFor()
  await page.getByLabel(/^Message, as/).fill('Good, ship it.')
  await page.keyboard.press('Enter')
  await page.locator('.item.person', { hasText: 'Good, ship it.' }).waitFor()
  t.equal(await page.locator('#message').inputValue(), '')
})
