import type { Test } from 'tap'
import type { Open, Scene } from './scene'

const YES_NO = { options: ['Yes', 'No'] }

interface Press { key: string, isComposing?: boolean, keyCode?: number, repeat?: boolean, timeStamp?: number }

// Playwright's keyboard composes nothing: the events are those that an input method sends.
const press = (scene: Scene, name: string, init: Press, target = 'textarea'): Promise<void> =>
  scene.page.evaluate(({ id, init, target }) => {
    const event = new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init })
    if (init.timeStamp !== undefined) Object.defineProperty(event, 'timeStamp', { value: init.timeStamp })
    document.querySelector(`.card[data-id="${id}"] ${target}`)!.dispatchEvent(event)
  }, { id: scene.id(name), init, target })

/** What a key does, and what it must not do. */
export function keys (t: Test, open: Open): void {
  t.test('j and k move, / writes, Shift and Enter starts a line, Enter sends, Esc leaves, u undoes, ? shows the keys', async t => {
    const scene = await open(t, { tickets: ['p', 'q', 'r'] })
    const { page } = scene
    await scene.card('p').waitFor()
    t.equal(await scene.selected(), 'p')
    await page.keyboard.press('k')
    t.equal(await scene.selected(), 'p', 'there is nothing above the first')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    t.equal(await scene.selected(), 'r')
    await page.keyboard.press('k')
    t.equal(await scene.selected(), 'q')
    await page.keyboard.press('/')
    await page.keyboard.type('jku/?1')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('two')
    t.equal(await scene.card('q').getByRole('textbox').inputValue(), 'jku/?1\ntwo')
    await page.keyboard.press('Escape')
    t.equal(await page.evaluate(() => document.activeElement?.className.includes('card')), true)
    await page.keyboard.press('/')
    await page.keyboard.press('Enter')
    await scene.recent('q').waitFor()
    t.strictSame(scene.sent, [{ name: 'q', answer: 'jku/?1\ntwo' }])
    await page.keyboard.press('u')
    await page.getByText('Taken back: the ticket is pending again.').waitFor()
    t.equal(await scene.selected(), 'q')
    t.equal(await scene.card('q').getByRole('textbox').inputValue(), 'jku/?1\ntwo', 'what was written is there again')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('j')
    t.equal(await scene.selected(), 'q', 'keys do nothing behind the dialog')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('?')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  })

  t.test('u with nothing to undo says so', async t => {
    const scene = await open(t)
    await scene.ready()
    await scene.page.keyboard.press('u')
    await scene.page.getByText('There is no answer of yours to take back.').waitFor()
    t.equal(await scene.page.title(), 'heads-up')
  })

  t.test('nothing is picked or sent while an input method composes', async t => {
    const scene = await open(t, { tickets: { p: YES_NO } })
    const field = scene.card('p').locator('.act textarea')
    await field.focus()
    await field.dispatchEvent('compositionstart')
    await field.evaluate(node => {
      (node as HTMLTextAreaElement).value = '日本'
      node.dispatchEvent(new InputEvent('input', { bubbles: true, isComposing: true }))
    })
    await press(scene, 'p', { key: 'Enter', isComposing: true })
    await press(scene, 'p', { key: 'Enter', keyCode: 229 })
    await press(scene, 'p', { key: '1', isComposing: true })
    await press(scene, 'p', { key: '2', keyCode: 229 }, '.question')
    await press(scene, 'p', { key: 'Enter', isComposing: true }, '.question')
    await field.dispatchEvent('compositionend')
    t.equal(await scene.card('p').locator('[aria-pressed=true]').count(), 0)
    t.equal(scene.sent.length, 0)
    await field.press('Enter')
    await scene.recent('p').waitFor()
    t.strictSame(scene.sent, [{ name: 'p', answer: '日本' }], 'then once, and whole')
    t.equal((await scene.ticket('p')).answer, '日本')
  })

  t.test('a key that repeats by itself neither picks nor sends', async t => {
    const scene = await open(t, { tickets: { p: YES_NO, q: YES_NO } })
    const { page } = scene
    await scene.card('p').waitFor()
    await page.keyboard.down('1')
    await page.keyboard.down('Enter')
    await scene.recent('p').waitFor()
    for (let i = 0; i < 3; i++) {
      await page.keyboard.down('1')
      await page.keyboard.down('Enter')
    }
    t.equal(await scene.card('q').locator('[aria-pressed=true]').count(), 0)
    await page.keyboard.up('1')
    await page.keyboard.up('Enter')
    await scene.card('q').getByRole('button', { name: 'Yes' }).click()
    await scene.card('q').getByRole('button', { name: 'Answer' }).focus()
    await page.keyboard.down('Shift')
    await press(scene, 'q', { key: 'Enter', repeat: true }, '.answer')
    await page.keyboard.up('Shift')
    await scene.card('q').locator('.act textarea').fill('text')
    await press(scene, 'q', { key: 'Enter', repeat: true })
    t.strictSame(scene.sent, [{ name: 'p', answer: 'Yes' }])
  })

  t.test('a key that went down before the ticket was shown and selected does not act on it', async t => {
    const scene = await open(t, { tickets: { p: YES_NO } })
    await scene.card('p').waitFor()
    const pressed = (): Promise<number> => scene.card('p').locator('[aria-pressed=true]').count()
    await press(scene, 'p', { key: '1', timeStamp: 1 }, '.question')
    t.equal(await pressed(), 0)
    await scene.page.keyboard.press('1')
    t.equal(await pressed(), 1)
    await press(scene, 'p', { key: 'Enter', timeStamp: 1 }, '.question')
    t.equal(scene.sent.length, 0)
    await scene.page.keyboard.press('Enter')
    await scene.recent('p').waitFor()
    t.equal(scene.sent.length, 1)
  })

  t.test('a key on a ticket that is scrolled away shows it first', async t => {
    const scene = await open(t, { tickets: Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`t${i}`, YES_NO])) })
    const { page } = scene
    await scene.card('t0').waitFor()
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    await page.keyboard.press('1')
    t.equal(await page.locator('[aria-pressed=true]').count(), 0)
    await page.keyboard.press('1')
    t.equal(await scene.card('t0').locator('[aria-pressed=true]').count(), 1)
  })

  t.test('a second Enter does not send an old draft of the ticket that moved up', async t => {
    const scene = await open(t, { tickets: ['p', 'q'] })
    const { page } = scene
    await scene.card('q').getByRole('textbox').fill('not yet thought through')
    await scene.card('p').getByRole('textbox').fill('done')
    await page.keyboard.press('Enter')
    await scene.recent('p').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Press Enter once more to send what already stood here.').waitFor()
    t.equal(scene.sent.length, 1)
    await page.keyboard.press('Enter')
    await scene.recent('q').waitFor()
    t.strictSame(scene.sent[1], { name: 'q', answer: 'not yet thought through' })
  })

  t.test('n shows what is new', async t => {
    const scene = await open(t, { tickets: { p: YES_NO } })
    const { page } = scene
    await scene.ready()
    await page.keyboard.press('1')
    await scene.ask('n', { stream: 'newcomer' })
    await scene.told()
    await page.getByRole('button', { name: '1 new. Show' }).waitFor()
    await page.keyboard.press('n')
    await scene.card('n').waitFor()
    t.equal(await scene.selected(), 'n')
    t.equal(await scene.card('p').locator('[aria-pressed=true]').count(), 1, 'what was picked stays picked')
    t.equal(scene.sent.length, 0)
  })
}
