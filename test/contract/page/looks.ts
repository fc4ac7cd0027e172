import type { BrowserContextOptions } from 'playwright-core'
import type { Test } from 'tap'
import type { Open } from './scene'

const PHONE: BrowserContextOptions = { viewport: { width: 375, height: 667 }, isMobile: true, hasTouch: true }

/** A small screen, and text that does not fit it. */
export function looks (t: Test, open: Open): void {
  t.test('with the keyboard of a phone up, question, field and button are in sight together', async t => {
    const fields = { question: 'Which of the three ways shall I take with the migration?', options: ['One', 'Two', 'Three'], context: 'line\n'.repeat(9) }
    const scene = await open(t, { context: PHONE, tickets: { p: fields, q: fields, r: fields, s: fields } })
    const { page } = scene
    const s = scene.card('s')
    await s.locator('.act textarea').tap()
    // As `interactive-widget=resizes-content` has it: 260 px of keyboard.
    await page.setViewportSize({ width: 375, height: 407 })
    await page.waitForFunction(() => document.documentElement.classList.contains('keyboard'))
    const boxes = await s.evaluate(node => ['.question', '.act textarea', '.answer'].map(part => {
      const { top, bottom } = node.querySelector(part)!.getBoundingClientRect()
      return { top, bottom }
    }))
    t.ok(boxes.every(({ top, bottom }) => top >= 0 && bottom <= 407), JSON.stringify(boxes))
    t.ok(boxes[0]!.bottom <= boxes[1]!.top + 1, 'none covers another')
    t.equal(await s.locator('.act textarea').getAttribute('enterkeyhint'), 'send')
    t.equal(await page.evaluate(() => visualViewport!.scale), 1)
    await page.keyboard.type('The second')
    await page.keyboard.press('Enter')
    await scene.recent('s').waitFor()
    t.strictSame(scene.sent, [{ name: 's', answer: 'The second' }])
  })

  t.test('words without a break and piles of marks stay in their box', async t => {
    const scene = await open(t, {
      context: PHONE,
      tickets: {
        p: { stream: 'w'.repeat(100), question: 'q'.repeat(2_000), options: ['o'.repeat(200), 'e' + '\u0301'.repeat(199)], context: 'c'.repeat(5_000), default_answer: 'd'.repeat(500) }
      }
    })
    await scene.card('p').waitFor()
    t.equal(await scene.page.evaluate(() => document.documentElement.scrollWidth), 375)
  })

  t.test('a single letter that is wider than the screen stays in its box, wherever it stands', async t => {
    // No line breaks inside either: marks that a font draws beside the letter, and people joined into a family that no font has.
    for (const wide of ['Z' + '\u0336\u0489'.repeat(49), '\u{1F469}' + '\u200D\u{1F469}'.repeat(40)]) {
      const scene = await open(t, { context: PHONE, tickets: { p: { stream: wide, question: wide, options: [wide, `${wide}.`], context: wide, default_answer: wide } } })
      const width = (): Promise<number> => scene.page.evaluate(() => document.documentElement.scrollWidth)
      await scene.card('p').waitFor()
      t.equal(await width(), 375)
      await scene.card('p').locator('.options button').first().click()
      await scene.card('p').getByRole('button', { name: 'Answer' }).click()
      await scene.recent('p').waitFor()
      t.equal((await scene.ticket('p')).answer, wide)
      t.equal(await width(), 375, 'settled, and announced')
    }
  })
}
