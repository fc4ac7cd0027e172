import type { Page } from 'playwright-core'
import t from 'tap'
import { OWNER } from '../../lib/principal'
import { card, launchBrowser, live, openPage, recent } from '../helpers/browser'
import { openConsole, OWNER_TOKEN, typeToken, type Console } from '../helpers/consoles'
import { ask } from '../helpers/http'
import { connectHttp } from '../helpers/mcp-clients'

const browser = await launchBrowser(t)
const options = { token: OWNER_TOKEN, originPolicy: 'spec' } as const

/** An agent with a token asks. Resolves with the id of its ticket. */
async function asked (t: Parameters<typeof openConsole>[0], { origin }: Console, token: string, question: string): Promise<string> {
  const client = await connectHttp(t, 'modern', `${origin}/mcp`, { authorization: `Bearer ${token}` })
  const { structuredContent, content } = await client.callTool({ name: 'ask_human', arguments: { question, options: ['Yes', 'No'] } })
  if (structuredContent === undefined) throw new Error(JSON.stringify(content))
  return (structuredContent as { id: string }).id
}

/** Types a token and lets go of the mouse: what comes under it would hold back what is new. */
async function type (page: Page, token: string): Promise<void> {
  await typeToken(page, token)
  await page.mouse.move(1, 1)
  await live(page)
}

async function answer (page: Page, id: string, text: string): Promise<void> {
  await card(page, id).getByText(text, { exact: true }).click()
  await card(page, id).getByRole('button', { name: 'Answer' }).click()
}

t.test('an approver sees the tickets of their rooms alone, also those that come, and answers under their own name', async t => {
  const room = await openConsole(t, browser, options)
  const [ann, zoe] = [await room.mint('ann'), await room.mint('zoe', { room: 'lab' })]
  const before = [await asked(t, room, ann, 'Ship it?'), await asked(t, room, zoe, 'Blow it up?')]
  const { page } = await room.open('/')
  await type(page, await room.mint('lea', { role: 'approver' }))
  await card(page, before[0]!).waitFor()
  const elsewhere = await asked(t, room, zoe, 'And now?')
  const here = await asked(t, room, ann, 'Tag it?')
  await card(page, here).waitFor()
  t.equal(await page.locator('.card').count(), 2)
  t.equal(await page.evaluate('state.entries.size'), 2, 'of the other room nothing has come at all')
  t.equal(await page.title(), '(2) heads-up')
  await answer(page, here, 'Yes')
  await recent(page, here).waitFor()
  await recent(page, here).getByRole('button', { name: /^Undo/ }).click()
  await card(page, here).waitFor()
  const { entries } = await (await ask(room.origin, '/api/audit', { headers: { authorization: `Bearer ${OWNER_TOKEN}` } })).json() as { entries: Array<{ id: string, event: string, actor: string }> }
  t.strictSame(entries.filter(({ id, event }) => id === here && event !== 'enqueued').map(({ event, actor }) => [event, actor]), [['answered', 'lea'], ['undone', 'lea']])
  t.equal((await room.app.readyroom.desk.get(elsewhere)).status, 'pending')
})

t.test('the token of an agent is told that it asks and cannot answer; with an approver\'s the same choice is sent', async t => {
  const room = await openConsole(t, browser, options)
  const ann = await room.mint('ann')
  const id = await asked(t, room, ann, 'Ship it?')
  const { page } = await room.open('/')
  await type(page, ann)
  const other = page.getByRole('button', { name: 'Use another token' })
  t.equal(await other.isVisible(), false)
  await answer(page, id, 'No')
  await card(page, id).getByText('Not sent: this token asks or reads, and cannot answer.').waitFor()
  t.equal((await room.app.readyroom.desk.get(id)).status, 'pending')
  await other.click()
  t.equal(await page.locator('.card').isVisible(), false)
  await type(page, await room.mint('lea', { role: 'approver' }))
  t.equal(await card(page, id).getByRole('button', { name: 'No' }).getAttribute('aria-pressed'), 'true', 'what was chosen is still there')
  t.equal(await other.isVisible(), false)
  await card(page, id).getByRole('button', { name: 'Answer' }).click()
  await recent(page, id).waitFor()
  t.match(await room.app.readyroom.desk.get(id), { status: 'answered', answer: 'No' })
})

t.test('a token that is revoked is asked for again at once, in every tab; the next one shows nothing of what that one saw', async t => {
  const room = await openConsole(t, browser, options)
  const [ann, zoe] = [await room.mint('ann'), await room.mint('zoe', { room: 'lab' })]
  const [hers, theirs] = [await asked(t, room, ann, 'Ship it?'), await asked(t, room, zoe, 'Blow it up?')]
  const settled = await asked(t, room, ann, 'Settled?')
  const { page, context } = await room.open('/')
  await type(page, await room.mint('lea', { role: 'approver' }))
  await answer(page, settled, 'Yes')
  await recent(page, settled).waitFor()
  await card(page, hers).getByRole('textbox').fill('half a thought')
  const second = await openPage(t, context, `${room.origin}/`)
  await card(second, hers).waitFor()
  await live(second)
  await room.admin.run('revoke', { agent: 'lea' })
  await page.getByText(/^That token (is not accepted any more|was not accepted)/).waitFor()
  await second.getByLabel('Token', { exact: true }).waitFor()
  t.equal(await page.evaluate(() => localStorage.getItem('readyroom-token:/')), null)
  t.equal(await page.locator('#room').isVisible(), false)
  await type(page, await room.mint('eve', { room: 'lab', role: 'approver' }))
  await card(page, theirs).waitFor()
  t.equal(await page.locator('.card').count(), 1)
  t.equal(await page.locator('#recent-list li').count(), 0)
  t.equal(await page.getByText('Ship it?').count(), 0)
  await asked(t, room, ann, 'More?')
  const more = await asked(t, room, zoe, 'More of ours?')
  for (const tab of [page, second]) {
    await card(tab, more).waitFor()
    t.equal(await tab.evaluate('state.entries.size'), 2, 'its stream is its own')
  }
  await answer(page, theirs, 'Yes')
  await recent(page, theirs).waitFor()
})

t.test('who reads only sees everything of the room, and is told the same where an undo would be one', async t => {
  const room = await openConsole(t, browser, options)
  const id = await asked(t, room, await room.mint('ann'), 'Ship it?')
  const { page } = await room.open('/')
  await type(page, await room.mint('olaf', { role: 'observer' }))
  await room.app.readyroom.desk.answer(id, 'Yes', OWNER)
  await recent(page, id).getByRole('button', { name: /^Undo/ }).click()
  await page.getByText('Not undone: this token asks or reads, and cannot answer.').waitFor()
  t.equal((await room.app.readyroom.desk.get(id)).status, 'answered')
})
