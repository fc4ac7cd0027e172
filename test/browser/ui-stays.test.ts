import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser, live } from '../helpers/browser'
import { openConsole, typeToken, type Console } from '../helpers/consoles'

// What becomes of the page of a room that stays open: the room goes, the token ends, an answer is lost, a flood comes.

const browser = await launchBrowser(t)

/** A token of an agent that has said something, and one of a person. */
async function people ({ mint, call }: Console) {
  const agent = await mint('otter')
  const person = await mint('lea', { role: 'approver' })
  await call('room', { description: 'Where the payments move' }, agent)
  await call('messages', { body: 'Please confirm.' }, agent)
  return { agent, person }
}

/** Waits for a text that the page has to ask for by itself: its clock is put forward until it has. */
async function comes (page: Page, text: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    await page.clock.runFor(6_000)
    try {
      return await page.getByText(text).waitFor({ timeout: 1_500 })
    } catch (err) {
      if (tries === 12) throw err
    }
  }
}

t.test('a room that is deleted leaves nothing on the page, one of its name that comes later is another, and the page finds it by itself', async t => {
  for (const streams of [true, false]) {
    const room = await openConsole(t, browser)
    const person = await room.mint('lea', { role: 'approver', room: 'den' })
    const agent = await room.mint('otter', { room: 'den' })
    await room.call('messages', { body: 'said in the den' }, agent)
    const { page, context } = await room.open('/ui')
    await page.clock.install()
    if (!streams) await context.route('**/v1/stream*', route => route.fulfill({ status: 501, body: '{}' }))
    await typeToken(page, person)
    await page.getByText('said in the den').waitFor()
    await page.locator(streams ? '.feed.live' : '.feed.polling').waitFor()
    await room.admin.run('delete-room', { room: 'den', confirm: 'den' })
    await comes(page, 'There is no room yet that you may enter.')
    t.equal(await page.locator('#inside').isVisible(), false)
    t.notMatch(await page.content(), 'said in the den')
    await room.admin.run('add-room', { room: 'den' })
    await comes(page, 'Nobody has said anything here yet.')
    await room.call('messages', { body: 'said anew' }, agent)
    await comes(page, 'said anew')
    t.notMatch(await page.content(), 'said in the den')
    await context.close()
  }
})

t.test('a page whose token ends has forgotten the room, and what was begun is there for the same person alone', async t => {
  const room = await openConsole(t, browser)
  const { agent, person } = await people(room)
  await room.mint('mia', { role: 'approver' }).then(async mia => {
    const { page } = await room.open('/ui', { token: person })
    await page.getByText('Please confirm.').waitFor()
    await page.locator('#message').fill('half a sentence')
    await room.admin.run('revoke', { agent: 'lea' })
    await page.getByText('That token was not accepted.').waitFor()
    t.notMatch(await page.content(), /Please confirm|Where the payments move/)
    t.equal(await page.evaluate('state.messages.size + state.tasks.length + state.events.size'), 0)
    await typeToken(page, await room.mint('lea', { role: 'approver' }))
    await page.getByText('Please confirm.').waitFor()
    t.equal(await page.locator('#message').inputValue(), 'half a sentence')
    await page.evaluate("lock('')")
    await typeToken(page, mia)
    await page.getByText('You are mia').waitFor()
    t.equal(await page.locator('#message').inputValue(), '')
  })
  await room.call('messages', { body: 'the others go on' }, agent)
})

t.test('a message whose answer is lost and that is posted again is in the room once', async t => {
  const room = await openConsole(t, browser)
  const { person } = await people(room)
  const { page, context } = await room.open('/ui', { token: person })
  await page.getByText('Please confirm.').waitFor()
  let lost = 0
  await context.route('**/v1/messages', async (route, request) => {
    if (request.method() !== 'POST' || lost++ > 0) return route.fallback()
    await route.fetch()
    await route.abort()
  })
  const post = async (): Promise<void> => {
    await page.locator('#message').fill('Ship it.')
    await page.keyboard.press('Enter')
  }
  await post()
  await page.getByText('Not posted: the server cannot be reached.').waitFor()
  await post()
  await page.getByText('Posted.', { exact: true }).waitFor()
  await page.locator('.item.person', { hasText: 'Ship it.' }).first().waitFor()
  t.equal((await room.rooms.run('readMessages', room.rooms.system('main'), {})).messages.filter(({ body }) => body === 'Ship it.').length, 1)
  await post()
  await page.locator('.item.person', { hasText: 'Ship it.' }).nth(1).waitFor()
  t.pass('said twice on purpose, it is there twice')
})

t.test('two hundred acknowledgements are shown without a question for each, and a page that stays open holds a thousand messages', async t => {
  const room = await openConsole(t, browser)
  const { person } = await people(room)
  const { page } = await room.open('/ui', { token: person })
  await live(page)
  await page.getByText('Please confirm.').waitFor()
  const head = { actor: { name: 'otter', kind: 'agent', admin: false }, room: 'main', now: Date.now() } as const
  await Promise.all(Array.from({ length: 1_050 }, (_, n) => room.rooms.run('postMessage', head, { body: `number ${n}.` })))
  await page.locator('[data-key=m1051]').waitFor()
  t.equal(await page.locator('#chat-list > *').count(), 1_000)
  await page.getByRole('button', { name: 'Show older messages' }).click()
  await page.locator('[data-key=m51]').waitFor()
  let asked = 0
  page.on('request', request => { if (request.url().includes('/v1/messages')) asked++ })
  const ids = Array.from({ length: 200 }, (_, i) => 60 + i)
  const lea = { ...head, actor: { name: 'lea', kind: 'approver', admin: false } } as const
  await Promise.all(ids.map(id => room.rooms.run('ackMessage', lea, { message_id: id })))
  await page.waitForFunction('[...state.messages.values()].filter(message => message.acked_by?.includes("lea")).length === 200')
  t.ok(asked < 20, `${asked} questions for 200 acknowledgements`)
})

t.test('without a stream the page asks every five seconds: what is said and what is acknowledged comes all the same', async t => {
  const room = await openConsole(t, browser)
  const { agent, person } = await people(room)
  await room.call('messages', { body: 'Did you see it?', to: ['otter'], require_ack: true }, person)
  const { page, context } = await room.open('/ui')
  await page.clock.install()
  await context.route('**/v1/stream*', route => route.fulfill({ status: 501, body: '{}' }))
  await typeToken(page, person)
  await page.getByText('waits to be acknowledged').waitFor()
  await page.locator('.feed.polling').waitFor()
  await room.call('messages/ack', { message_id: 2 }, agent)
  await room.call('messages', { body: 'and this is new' }, agent)
  await comes(page, 'and this is new')
  await comes(page, 'acknowledged by otter')
})
