import t from 'tap'
import { launchBrowser } from '../helpers/browser'
import { openConsole, OWNER_TOKEN, typeToken } from '../helpers/consoles'
import { setUpAsTyped } from '../helpers/typed-setup'

const browser = await launchBrowser(t)

t.test('the admin page mints a token whose setup text, typed as it stands into an empty folder, gives a working agent', async t => {
  const room = await openConsole(t, browser, { token: OWNER_TOKEN, edge: { adminApi: true } })
  const { page } = await room.open('/admin', { token: OWNER_TOKEN })
  await page.getByRole('button', { name: 'Begin with tokens' }).click()
  await page.getByLabel('Name', { exact: true }).fill('otter')
  await page.getByRole('button', { name: 'Mint', exact: true }).click()
  const { client, sessionStart } = await setUpAsTyped(t, page, 'lan')
  const names = (await client.listTools()).tools.map(({ name }) => name)
  t.ok(['ask_human', 'wait_for_answer', 'post_message', 'whats_new', 'claim_task'].every(name => names.includes(name)))
  await client.callTool({ name: 'post_message', arguments: { body: 'I am here.' } })
  const asked = await client.callTool({ name: 'ask_human', arguments: { question: 'Shall I begin?' } })
  t.match(asked.structuredContent, { status: 'pending' })
  const { messages } = await room.rooms.run('readMessages', room.rooms.system('main'), {}) as { messages: Array<{ author: string, body: string }> }
  t.match(messages, [{ author: 'otter', body: 'I am here.' }])

  await room.call('messages', { body: '@otter welcome aboard', room: 'main' }, OWNER_TOKEN)
  t.match(await sessionStart(), /welcome aboard/, 'the hook tells the agent what it has not seen')
})

t.test('the lines are for the terminal that the browser’s system has, until another is chosen, by mouse or by keys', async t => {
  const room = await openConsole(t, browser, { token: OWNER_TOKEN, edge: { adminApi: true } })
  await room.mint('otter')
  await room.mint('lea', { role: 'approver' })
  for (const [platform, own] of [['Win32', 'PowerShell'], ['Linux x86_64', 'bash'], ['MacIntel', 'bash']] as const) {
    const { page, context } = await room.open('/admin')
    await context.addInitScript(`Object.defineProperty(navigator, 'userAgentData', { value: undefined }); Object.defineProperty(navigator, 'platform', { value: '${platform}' })`)
    await page.reload()
    await typeToken(page, OWNER_TOKEN)
    await page.getByRole('button', { name: 'Setup text for token 1' }).click()
    const fetched = page.locator('#text-lan-hook_fetch')
    await fetched.waitFor()
    t.equal(await page.getByRole('group', { name: 'The terminal that the lines are for' }).getByRole('radio', { name: own }).isChecked(), true, platform)
    t.match(await fetched.textContent(), own === 'bash' ? /^curl -fsS/ : /^curl\.exe -fsS/)
    await page.getByRole('radio', { name: own }).focus()
    await page.keyboard.press('ArrowDown')
    const next = own === 'bash' ? 'PowerShell' : 'cmd'
    t.equal(await page.getByRole('radio', { name: next }).evaluate(node => node === document.activeElement && (node as HTMLInputElement).checked), true)
    t.match(await fetched.textContent(), /^curl\.exe -fsS/)
    await page.getByText('bash, zsh').click()
    t.match(await fetched.textContent(), /^curl -fsS/)
    await page.getByRole('button', { name: 'Setup text for token 2' }).click()
    await page.getByText('The page to open:').waitFor()
    t.equal(await page.locator('#shells').isVisible(), false, 'a person needs no terminal')
  }
})

t.test('a terminal that has no way to write the address says so, and the others have it', async t => {
  const room = await openConsole(t, browser, { token: OWNER_TOKEN, edge: { adminApi: true, publicUrl: 'https://desk.example/ready%20room' } })
  await room.mint('otter')
  const { page } = await room.open('/admin', { token: OWNER_TOKEN })
  await page.getByRole('button', { name: 'Setup text for token 1' }).click()
  await page.locator('#text-remote-add').waitFor()
  await page.getByText('cmd', { exact: true }).click()
  await page.getByText('cmd has no way to write this address').first().waitFor()
  t.equal(await page.locator('#text-remote-add').count(), 0)
  t.equal(await page.locator('#text-lan-add').count(), 1)
})
