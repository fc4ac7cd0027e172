import t from 'tap'
import { launchBrowser } from '../helpers/browser'
import { openConsole, OWNER_TOKEN } from '../helpers/consoles'

const browser = await launchBrowser(t)
const options = { token: OWNER_TOKEN, edge: { adminApi: true } }

t.test('a token is minted, shown once with its setup text, and gone when it is dismissed', async t => {
  const { open, rooms } = await openConsole(t, browser, options)
  const { page, context } = await open('/admin', { token: OWNER_TOKEN })
  await page.getByRole('button', { name: 'Begin with tokens' }).click()
  await page.getByLabel('Name', { exact: true }).fill('otter')
  await page.getByRole('button', { name: 'Mint', exact: true }).click()
  await page.locator('#text-lan-mcp_json').waitFor()
  const token = await page.locator('#minted-token').textContent() ?? ''
  t.match(token, /^rr_[\w-]{43}$/)
  t.equal(rooms.tokens.find(token, Date.now())?.name, 'otter')
  const entry = JSON.parse(await page.locator('#text-lan-mcp_json').textContent() ?? '')
  t.match(entry, { mcpServers: { readyroom: { headers: { Authorization: `Bearer ${token}` } } } })
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await page.locator('#minted').waitFor({ state: 'hidden' })
  const kept = await page.evaluate(() =>
    document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }) + location.href + JSON.stringify(history.state))
  t.notMatch(kept, token)
  t.notMatch(kept, OWNER_TOKEN)
  t.equal((await context.cookies()).length, 0)
  t.equal(await page.evaluate('JSON.stringify(state.minted)'), undefined)
})
