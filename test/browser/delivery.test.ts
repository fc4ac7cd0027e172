import t from 'tap'
import { card, launchBrowser, live, recent, visit } from '../helpers/browser'
import { violations } from '../helpers/looks'

const browser = await launchBrowser(t)
const at = (time: string): string => new Date(`2026-12-01T${time}Z`).toISOString()
// As somebody reads it on the day itself, in the test's own time zone.
const context = { timezoneId: 'UTC' }
const DAY = new Date(at('10:10:00'))

t.test('a settled ticket says how far its answer has come, as it comes, and the undo says that the agent has read it', async t => {
  const { server, page, context: tabs } = await visit(t, browser, { context, before: server => server.enqueue({ id: 'p' }) })
  await tabs.clock.setFixedTime(DAY)
  await live(page)
  server.answer('p', 'Yes')
  const item = recent(page, 'p')
  await item.waitFor()
  t.equal(await item.locator('.way').isVisible(), false, 'nothing is said while nothing is known')
  const saved = { rev: 2, saved_at: at('10:02:30') }
  server.know('p', { delivery: saved })
  await item.getByText('Saved; the agent has not been told yet').waitFor()
  const undo = item.getByRole('button', { name: /^Undo/ })
  await undo.focus()
  server.know('p', { delivery: { ...saved, delivered_at: at('10:03:01') } })
  await item.getByText('Delivered 10:03', { exact: true }).waitFor()
  server.know('p', { delivery: { ...saved, delivered_at: at('10:03:01'), read_at: at('10:04:59') } })
  await item.getByText('Delivered 10:03, read 10:04. An undo is told to the agent, which may have acted on the answer').waitFor()
  t.ok(await undo.evaluate(button => document.activeElement === button), 'what has the focus keeps it')
  t.match(await undo.evaluate(button => document.getElementById(button.getAttribute('aria-describedby')!)?.textContent), /read 10:04/)
  t.equal(await page.locator('#say').textContent(), '', 'nobody is interrupted by it')
  server.know('p', { delivery: saved })
  server.enqueue({ id: 'q' })
  await card(page, 'q').waitFor()
  t.match(await item.locator('.way').textContent(), /read 10:04/, 'what is known of an answer is not taken back by an older word')
})

t.test('after an undo the ticket says what the agent had of the answer, and when it was told of the undo', async t => {
  const { server, page, context: tabs } = await visit(t, browser, { context, before: server => ['p', 'q', 'r'].forEach(id => server.enqueue({ id })) })
  await tabs.clock.setFixedTime(DAY)
  await live(page)
  for (const id of ['p', 'q', 'r']) {
    server.answer(id, 'Yes')
    const { answer, answered_by: _by, answered_at: _at, ...open } = server.tickets.get(id)!
    server.change({ ...open, status: 'pending' })
  }
  const undone = { rev: 3, saved_at: at('10:05:00') }
  const before = { rev: 2, saved_at: at('10:02:00') }
  server.know('p', { delivery: undone, delivery_before: { ...before, delivered_at: at('10:03:00'), read_at: at('10:04:00') } })
  server.know('q', { delivery: undone, delivery_before: { ...before, delivered_at: at('10:06:00') } })
  await card(page, 'p').getByText('The last answer had been delivered 10:03 (read 10:04) before it was taken back.', { exact: true }).waitFor()
  await card(page, 'q').getByText('The last answer was taken back before the agent was told of it.').waitFor()
  t.equal(await card(page, 'r').locator('.before').isVisible(), false)
  server.know('p', { delivery: { ...undone, delivered_at: at('10:07:00') }, delivery_before: { ...before, delivered_at: at('10:03:00'), read_at: at('10:06:00') } })
  await card(page, 'p').getByText('delivered 10:03 before it was taken back. The agent was told so 10:07.').waitFor()
})

t.test('a pending ticket shows the task that waits for it, as text, below whatever can be pressed; an event of a ticket that is not here changes nothing', async t => {
  const title = '<img src=x> \u202Eback'
  const { server, page } = await visit(t, browser, {
    before: server => {
      server.enqueue({ id: 'p', options: ['Yes', 'No'] })
      server.enqueue({ id: 'own' })
      server.inRoom.set('p', { waiting_task: { room: 'main', id: 12, title: 'Host the poller' } })
    }
  })
  await live(page)
  await card(page, 'p').getByText('Task 12, Host the poller, waits for this.').waitFor()
  const option = card(page, 'p').getByRole('button', { name: 'Yes' })
  const place = await option.boundingBox()
  server.know('unknown', { waiting_task: { room: 'main', id: 1, title: 'Elsewhere' } })
  server.know('p', { waiting_task: { room: 'main', id: 13, title } })
  await card(page, 'p').getByText('Task 13, <img src=x> \u27E8U+202E\u27E9back, waits for this.').waitFor()
  t.strictSame(await option.boundingBox(), place)
  t.equal(await page.locator('main img').count(), 0)
  t.equal(await page.locator('.card').count(), 2)
  t.equal(await card(page, 'own').locator('.way').filter({ visible: true }).count(), 0, 'of a ticket without a room nothing is known')
  server.know('p', {})
  await card(page, 'p').getByText('waits for this').waitFor({ state: 'hidden' })
})

t.test('axe finds nothing where it is all shown', async t => {
  const { page } = await visit(t, browser, {
    context: { bypassCSP: true },
    before: server => {
      for (const id of ['p', 'q']) server.enqueue({ id })
      server.answer('q', 'Yes')
      server.inRoom.set('p', { waiting_task: { room: 'main', id: 12, title: 'Host the poller' } })
      server.inRoom.set('q', { delivery: { rev: 2, saved_at: server.iso(), delivered_at: server.iso(), read_at: server.iso() } })
    }
  })
  await recent(page, 'q').getByText(/^Delivered .* read /).waitFor()
  await card(page, 'p').getByText('waits for this').waitFor()
  t.strictSame(await violations(page), [])
})
