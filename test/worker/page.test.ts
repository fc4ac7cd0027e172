import t from 'tap'
import { card, launchBrowser, openPage, recent } from '../helpers/browser'
import { call, enqueue } from '../helpers/worker-client'
import { TOKEN } from '../helpers/worker'
import { startWranglerDev } from '../helpers/wrangler-dev'

const browser = await launchBrowser(t)

t.test('a person drains a queue that runs in wrangler dev, and finds it again after a restart', async t => {
  const persist = t.testdir()
  const first = await startWranglerDev(t, persist)
  const asked = await enqueue(first, { question: 'Which colour?', options: ['red', 'green'] })

  const context = await browser.newContext({ viewport: { width: 1_000, height: 900 } })
  context.setDefaultTimeout(20_000)
  t.teardown(() => context.close())
  await context.clock.install()
  // A breach of its policy, or an error in it, fails the test.
  const page = await openPage(t, context, `${first.origin}/`)
  let reads = 0
  page.on('request', request => { if (new URL(request.url()).pathname === '/api/tickets') reads++ })

  await page.getByLabel('Token').fill('not-the-token-of-this-ready-room')
  await page.keyboard.press('Enter')
  await page.getByText('That token was not accepted.').waitFor()
  await page.getByLabel('Token').fill(TOKEN)
  await page.keyboard.press('Enter')
  await card(page, asked).waitFor()
  await page.getByText('Polling every 5 s').waitFor()

  const before = reads
  for (let n = 0; n < 12; n++) {
    const read = page.waitForResponse(response => new URL(response.url()).pathname === '/api/tickets')
    await page.clock.runFor(5_000)
    await read
  }
  t.equal(reads - before, 12, 'a minute is twelve reads: 17,280 a day')

  const later = await enqueue(first, { question: 'And later?', context: 'two\nlines' })
  await page.clock.runFor(5_000)
  await card(page, later).waitFor()

  await card(page, asked).getByRole('button', { name: 'green' }).click()
  await card(page, asked).getByRole('button', { name: 'Answer' }).click()
  await recent(page, asked).waitFor()
  const told = (await call(first, '/mcp/agent', 'wait_for_answer', { id: asked })).structuredContent
  t.match(told, { status: 'answered', answer: 'HUMAN ANSWER: green', answered_by: 'human' })
  await recent(page, asked).getByRole('button', { name: /Undo/ }).click()
  await card(page, asked).waitFor()
  t.match((await call(first, '/mcp/agent', 'list_pending')).structuredContent['tickets'], [{ id: asked, rev: 3 }, { id: later, rev: 1 }])
  await first.close()

  const second = await startWranglerDev(t, persist)
  t.match((await call(second, '/mcp/agent', 'list_pending')).structuredContent['tickets'], [{ id: asked, rev: 3 }, { id: later, context: 'two\nlines' }])
  t.match((await call(second, '/mcp/agent', 'cancel_ticket', { id: later })).structuredContent, { status: 'cancelled' })
})
