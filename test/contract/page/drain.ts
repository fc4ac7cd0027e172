import type { Test } from 'tap'
import type { Open } from './scene'

const YES_NO = { options: ['Yes', 'No'] }

/** A person reads and answers. */
export function drain (t: Test, open: Open): void {
  t.test('tickets stand grouped by stream, the newest stream first', async t => {
    const scene = await open(t, { tickets: { a1: { stream: 'alpha' }, b1: { stream: 'beta' }, a2: { stream: 'alpha' } } })
    const { page } = scene
    await scene.card('a1').waitFor()
    t.strictSame(await page.locator('.stream h2 bdi').allTextContents(), ['alpha', 'beta'])
    t.strictSame(await scene.names(), ['a1', 'a2', 'b1'])
    t.equal(await page.title(), '(3) heads-up')
  })

  t.test('what happens elsewhere shows up by itself', async t => {
    const scene = await open(t)
    await scene.ready()
    await scene.ask('p')
    await scene.told()
    await scene.card('p').waitFor()
    await scene.cancel('p')
    await scene.told()
    await scene.recent('p').getByText('Cancelled by the agent').waitFor()
    t.equal(await scene.card('p').count(), 0)
  })

  t.test('a ticket that has run out of time is asked about at once, and has its default', async t => {
    const scene = await open(t, { tickets: { p: { default_answer: 'Wait', timeout_seconds: 2 } } })
    await scene.recent('p').getByText('Expired, default applied: Wait').waitFor()
    t.equal(await scene.recent('p').getByRole('button').count(), 0, 'only an answer can be taken back')
    t.match(await scene.ticket('p'), { status: 'expired', answer: 'Wait', answered_by: 'default' })
  })

  t.test('two key presses answer a ticket with options, and the next ticket is selected', async t => {
    const scene = await open(t, { tickets: { p: YES_NO, q: YES_NO } })
    const { page } = scene
    await scene.card('p').waitFor()
    await page.keyboard.press('2')
    await page.keyboard.press('Enter')
    await scene.recent('p').waitFor()
    // The event may be here before the reply: a person sees the answer confirmed, and goes on.
    await page.getByRole('status').getByText('Answered: No').waitFor()
    t.strictSame(scene.sent, [{ name: 'p', answer: 'No' }])
    t.match(await scene.ticket('p'), { status: 'answered', answer: 'No', answered_by: 'human' })
    t.equal(await scene.recent('p').locator('.outcome').textContent(), 'You answered: No')
    t.equal(scene.nameOf(await page.evaluate(() => document.activeElement!.getAttribute('data-id'))), 'q', 'the focus is not lost to the body')
    t.equal(await page.title(), '(1) heads-up')
    await page.keyboard.press('1')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing is waiting for you.').waitFor()
    t.strictSame(scene.sent[1], { name: 'q', answer: 'Yes' })
    t.equal(await page.title(), 'heads-up')
  })

  t.test('two key presses answer it after a click on a button of the card, too', async t => {
    const scene = await open(t, { tickets: { p: { ...YES_NO, context: 'line\n'.repeat(50) } } })
    await scene.card('p').getByRole('button', { name: 'Show all of the context' }).click()
    await scene.page.keyboard.press('1')
    await scene.page.keyboard.press('Enter')
    await scene.recent('p').waitFor()
    t.strictSame(scene.sent, [{ name: 'p', answer: 'Yes' }])
  })

  t.test('a mouse picks an option, writes an answer and undoes it', async t => {
    const scene = await open(t, { tickets: { p: YES_NO, q: {} } })
    await scene.card('p').getByRole('button', { name: 'No' }).click()
    await scene.card('p').getByRole('button', { name: 'Answer' }).click()
    await scene.recent('p').waitFor()
    await scene.card('q').getByRole('textbox').fill('line one\nline two')
    await scene.card('q').getByRole('button', { name: 'Answer' }).click()
    await scene.recent('q').waitFor()
    t.strictSame(scene.sent, [{ name: 'p', answer: 'No' }, { name: 'q', answer: 'line one\nline two' }])
    t.match(await scene.recent('p').locator('.seconds').textContent(), /^4:\d\d left$|^5:00 left$/)
    await scene.recent('p').getByRole('button', { name: 'Undo' }).click()
    await scene.card('p').waitFor()
    t.match(await scene.ticket('p'), { status: 'pending', rev: 3 })
    t.equal(await scene.recent('p').count(), 0)
  })

  t.test('what is written last is what is sent', async t => {
    const scene = await open(t, { tickets: { p: YES_NO } })
    const p = scene.card('p')
    await p.getByRole('button', { name: 'Yes' }).click()
    await p.getByRole('textbox').fill('only after six')
    t.equal(await p.getByRole('button', { name: 'Yes' }).getAttribute('aria-pressed'), 'false')
    await p.getByRole('button', { name: 'No' }).click()
    t.equal(await p.locator('.note').textContent(), 'Sends the picked option; what you wrote stays here.')
    await p.getByRole('textbox').press('End')
    await scene.page.keyboard.type('!')
    await scene.page.keyboard.press('Enter')
    await scene.recent('p').waitFor()
    t.strictSame(scene.sent, [{ name: 'p', answer: 'only after six!' }])
  })

  t.test('an empty answer is not sent, and the page says why', async t => {
    const scene = await open(t, { tickets: ['p'] })
    await scene.card('p').getByRole('textbox').fill('  \n ')
    await scene.card('p').getByRole('button', { name: 'Answer' }).click({ force: true })
    await scene.page.getByText('Write an answer first.').waitFor()
    t.equal(scene.sent.length, 0)
  })

  t.test('draft, caret, focus and nodes survive what happens elsewhere', async t => {
    const scene = await open(t, { tickets: ['p', 'q', 'r'] })
    const { page } = scene
    await scene.ready()
    const field = scene.card('q').getByRole('textbox')
    await field.fill('half a thought')
    await field.evaluate(node => {
      (node as HTMLTextAreaElement).setSelectionRange(5, 6)
      ;(node as unknown as { marked: boolean }).marked = true
    })
    const top = (): Promise<number> => scene.card('q').evaluate(card => card.getBoundingClientRect().top)
    const before = await top()
    await scene.ask('n', { stream: 'newcomer' })
    await scene.answer('p', 'elsewhere')
    await scene.told()
    await page.evaluate(() => dispatchEvent(new Event('load')))
    await page.getByRole('button', { name: '1 new. Show' }).waitFor()
    await scene.recent('p').waitFor()
    t.equal(await scene.card('n').count(), 0, 'an arrival waits')
    t.strictSame(await field.evaluate(node => {
      const { value, selectionStart, selectionEnd } = node as HTMLTextAreaElement
      return { value, selectionStart, selectionEnd, focus: document.activeElement === node, marked: (node as unknown as { marked: boolean }).marked }
    }), { value: 'half a thought', selectionStart: 5, selectionEnd: 6, focus: true, marked: true })
    t.ok(Math.abs(await top() - before) < 1, 'it is still where the eye is, though the page could not scroll as far')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await scene.recent('q').waitFor()
    t.strictSame(scene.sent, [{ name: 'q', answer: 'half a thought' }], 'sent to the ticket it was written for')
  })

  t.test('a long context is folded, and a shortened one is fetched whole', async t => {
    const long = Array.from({ length: 3_000 }, (_, i) => `line ${i}`).join('\n')
    const scene = await open(t, { tickets: { p: { context: long }, q: { context: Array.from({ length: 12 }, (_, i) => `row ${i}`).join('\n') }, r: { context: 'short' } } })
    const context = scene.card('p').locator('.context')
    await context.waitFor()
    t.equal((await context.textContent())!.split('\n').length, 10)
    t.equal(await scene.card('r').locator('.fold').isVisible(), false)
    await scene.card('p').getByRole('button', { name: 'Show all of the context' }).click()
    await scene.page.waitForFunction(end => document.querySelector('.context')?.textContent?.endsWith(end), 'line 2999')
    t.equal(await context.textContent(), long)
    t.ok(scene.asked.includes(`/api/tickets/${scene.id('p')}`))
    await scene.card('q').getByRole('button', { name: 'Show all of the context' }).click()
    t.match(await scene.card('q').locator('.context').textContent(), /row 11$/)
    t.notOk(scene.asked.includes(`/api/tickets/${scene.id('q')}`), 'a whole one is not fetched again')
    await scene.card('p').getByRole('button', { name: 'Show less' }).click()
    t.equal((await context.textContent())!.split('\n').length, 10)
  })
}
