import type { Test } from 'tap'
import type { Fields, Open, Scene } from './scene'

const YES_NO = { options: ['Yes', 'No'] }

const topOf = (scene: Scene, name: string): Promise<number> => scene.card(name).evaluate(card => card.getBoundingClientRect().top)

/** A queue of many tickets, and what holds still in it. */
export function queue (t: Test, open: Open): void {
  t.test('fifteen agents at once change nothing under the pointer; the bar counts them and shows them when asked', async t => {
    const scene = await open(t, { tickets: { p: YES_NO, q: YES_NO } })
    const { page } = scene
    await scene.ready()
    await scene.card('q').hover()
    const before = await topOf(scene, 'q')
    await Promise.all(Array.from({ length: 15 }, (_, i) => scene.ask(`n${i}`, { stream: `agent ${i}`, urgency: i === 3 || i === 9 ? 'blocking' : 'normal' })))
    await scene.told()
    await page.getByRole('button', { name: '15 new, 2 blocking. Show' }).waitFor()
    t.strictSame(await scene.names(), ['p', 'q'])
    t.equal(await topOf(scene, 'q'), before)
    t.equal(await page.title(), '(17) heads-up', 'they count all the same')
    await scene.answer('p', 'elsewhere')
    await scene.told()
    await scene.recent('p').waitFor()
    t.ok(Math.abs(await topOf(scene, 'q') - before) < 1, 'nor does it move when the card above it goes')
    await scene.cancel('n9')
    await scene.told()
    await page.getByRole('button', { name: '14 new, 1 blocking. Show' }).click()
    await scene.card('n14').waitFor()
    t.equal(await page.locator('.card').count(), 15)
    t.equal(await scene.selected(), 'n3', 'what is blocking is selected')
    t.equal(await page.locator('#arrivals').isVisible(), false)
  })

  t.test('arrivals come in by themselves once nobody is at a ticket any more', async t => {
    const scene = await open(t, { tickets: ['p'] })
    const { page } = scene
    await scene.ready()
    await scene.card('p').locator('.act textarea').fill('half')
    await scene.ask('n', { stream: 'newcomer' })
    await scene.told()
    await page.getByRole('button', { name: '1 new. Show' }).waitFor()
    await scene.card('p').locator('.act textarea').fill('')
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    await scene.card('n').waitFor()
    t.strictSame(await scene.names(), ['n', 'p'])
  })

  t.test('a double click on Answer does not answer the ticket that comes under the pointer', async t => {
    const scene = await open(t, { tickets: { p: YES_NO, q: YES_NO } })
    const { page } = scene
    await scene.card('q').getByRole('button', { name: 'Yes' }).click()
    await scene.card('p').getByRole('button', { name: 'No' }).click()
    const button = (await scene.card('p').getByRole('button', { name: 'Answer' }).boundingBox())!
    await page.mouse.move(button.x + 20, button.y + 20)
    await page.mouse.down()
    await page.mouse.up()
    await scene.card('p').waitFor({ state: 'detached' })
    await page.mouse.down()
    await page.mouse.up()
    await scene.recent('p').waitFor()
    t.strictSame(scene.sent, [{ name: 'p', answer: 'No' }])
    t.equal((await scene.ticket('q')).status, 'pending')
  })

  t.test('with more than a screenful, the queue can be filtered by stream and by urgency, and shown whole again', async t => {
    const tickets = ['alpha', 'beta'].flatMap(stream => (['low', 'normal', 'blocking'] as const).map(urgency => [`${stream}-${urgency}`, { stream, urgency }]))
    const scene = await open(t, { tickets: Object.fromEntries(tickets) as Record<string, Fields> })
    const { page } = scene
    await scene.card('alpha-low').waitFor()
    await page.getByRole('combobox', { name: 'Urgency' }).selectOption('blocking')
    t.strictSame((await scene.names()).sort(), ['alpha-blocking', 'beta-blocking'])
    t.equal(await page.locator('#count').textContent(), '2 of 6 pending')
    t.equal(await page.locator('.stream .many').first().textContent(), '1 of 3 tickets')
    t.match(await scene.selected(), /-blocking$/, 'keys act on what is shown')
    await page.getByRole('combobox', { name: 'Stream' }).selectOption('beta')
    t.strictSame(await scene.names(), ['beta-blocking'])
    await scene.answer('beta-blocking', 'elsewhere')
    await scene.told()
    await page.getByText('No ticket matches the filter.').waitFor()
    t.equal(await page.title(), '(5) heads-up')
    await page.getByRole('button', { name: 'Show all' }).click()
    t.equal(await page.locator('.card').count(), 5)
    for (const name of ['alpha-low', 'alpha-normal', 'alpha-blocking']) await scene.cancel(name)
    await scene.told()
    await scene.card('alpha-normal').waitFor({ state: 'detached' })
    t.equal(await page.getByRole('combobox', { name: 'Stream' }).isVisible(), false)
    t.strictSame(await scene.names(), ['beta-low', 'beta-normal'], 'two need no filter')
  })

  t.test('blocking first is a choice, and the browser keeps it', async t => {
    const scene = await open(t, { tickets: { a: {}, b: {}, c: { urgency: 'blocking' }, d: {} } })
    const { page } = scene
    await scene.card('a').waitFor()
    t.strictSame(await scene.names(), ['a', 'b', 'c', 'd'])
    const button = page.getByRole('button', { name: 'Blocking first' })
    await button.click()
    t.strictSame(await scene.names(), ['c', 'a', 'b', 'd'])
    await page.reload()
    await scene.card('a').waitFor()
    t.strictSame(await scene.names(), ['c', 'a', 'b', 'd'])
    t.equal(await button.getAttribute('aria-pressed'), 'true')
    await button.click()
    t.strictSame(await scene.names(), ['a', 'b', 'c', 'd'])
  })

  t.test('a reload keeps drafts, picks, caret, focus and scroll; a draft goes with its answer', async t => {
    const scene = await open(t, { context: { viewport: { width: 1_000, height: 500 } }, tickets: { p: YES_NO, q: YES_NO, r: YES_NO, s: YES_NO } })
    const { page } = scene
    await scene.card('p').getByRole('button', { name: 'No' }).click()
    const field = scene.card('r').locator('.act textarea')
    await field.fill('half a thought')
    await field.evaluate(node => (node as HTMLTextAreaElement).setSelectionRange(5, 6))
    const before = await topOf(scene, 'r')
    await page.reload()
    await scene.card('r').waitFor()
    t.equal(await field.inputValue(), 'half a thought')
    t.strictSame(await field.evaluate(node => {
      const { selectionStart, selectionEnd } = node as HTMLTextAreaElement
      return [selectionStart, selectionEnd, document.activeElement === node]
    }), [5, 6, true])
    t.ok(Math.abs(await topOf(scene, 'r') - before) < 2, 'where it was')
    t.equal(await scene.card('p').getByRole('button', { name: 'No' }).getAttribute('aria-pressed'), 'true')
    await page.keyboard.press('Enter')
    await page.getByText('Press Enter once more to send what already stood here.').waitFor()
    await page.keyboard.press('Enter')
    await scene.recent('r').waitFor()
    t.strictSame(scene.sent, [{ name: 'r', answer: 'half a thought' }])
    const kept = (): Promise<string[]> => page.evaluate(() => Object.keys(sessionStorage).filter(key => key.startsWith('readyroom-draft:')))
    t.strictSame(await kept(), [`readyroom-draft:/:${scene.id('p')}`])
    await scene.card('p').getByRole('button', { name: 'Answer' }).click()
    await scene.recent('p').waitFor()
    t.strictSame(await kept(), [])
  })

  t.test('a long answer can be read whole', async t => {
    const answer = 'word '.repeat(300)
    const scene = await open(t, { tickets: ['p'], before: scene => scene.answer('p', answer) })
    const outcome = scene.recent('p').locator('.outcome')
    await outcome.waitFor()
    const height = (): Promise<number> => outcome.evaluate(node => node.clientHeight)
    const before = await height()
    await scene.recent('p').getByRole('button', { name: 'Show all of the answer' }).click()
    t.ok(await height() > before * 2)
    t.equal(await outcome.textContent(), `A person answered: ${answer}`)
  })

  t.test('64 KiB in one line, or in as many lines as fit, freeze nothing', async t => {
    const texts = { one: 'x'.repeat(65_536), many: `${'l\n'.repeat(20_000)}end` }
    const scene = await open(t, { tickets: { one: { ...YES_NO, context: texts.one }, many: { ...YES_NO, context: texts.many } } })
    const { page } = scene
    for (const name of ['one', 'many'] as const) {
      const p = scene.card(name)
      await p.waitFor()
      t.ok((await p.locator('.context').textContent())!.length < 1_100, 'folded')
      await p.getByRole('button', { name: 'Show all of the context' }).click()
      await page.waitForFunction(([id, length]) => document.querySelector(`.card[data-id="${id}"] .context`)!.textContent!.length === length,
        [scene.id(name), texts[name].length] as const)
      t.equal(await p.locator('.context').textContent(), texts[name])
    }
    t.equal(await page.locator('.context .part').count(), 201, 'many lines are laid out by the hundred')
    const start = performance.now()
    await page.keyboard.press('2')
    await page.locator('[aria-pressed=true]').waitFor()
    t.ok(performance.now() - start < 1_000)
  })

  t.test('it is painted in a frame of no size', async t => {
    const scene = await open(t, { tickets: ['p'] })
    const { page, context } = scene
    // A host of the same origin, as a reverse proxy might show it; it has no policy of its own.
    await context.route('**/host', route => route.fulfill({ contentType: 'text/html', body: '<iframe src="/" width="0" height="0"></iframe>' }))
    await page.goto(new URL('host', scene.room.url).href)
    await page.frameLocator('iframe').locator('.card').waitFor({ state: 'attached' })
    t.equal(await page.frames()[1]!.title(), '(1) heads-up')
  })
}
