import type { Test } from 'tap'
import { watchPage } from '../../helpers/browser'
import { eventually } from '../../helpers/process'
import type { Open } from './scene'

const HOSTILE = [
  '<img src=x onerror="document.title=\'owned\'">',
  '<a href="javascript:document.title=\'owned\'">click</a>',
  '</script><script>document.title="owned"</script>',
  // eslint-disable-next-line no-template-curly-in-string -- an expression is what it tries
  '{{constructor.constructor("document.title=1")()}}${document.title=1}',
  '<svg onload="document.title=\'owned\'"></svg>'
]

/** Text that tries to run, to mislead, or to be lost. */
export function safety (t: Test, open: Open): void {
  t.test('agent text that tries to run is shown as text everywhere', async t => {
    const scene = await open(t, {
      tickets: Object.fromEntries(HOSTILE.map((text, i) => [`h${i}`, { stream: text, question: text, context: text, default_answer: text, options: [...HOSTILE] }]))
    })
    const { page } = scene
    await scene.ready()
    t.strictSame((await page.locator('.stream h2 bdi').allTextContents()).sort(), [...HOSTILE].sort())
    for (const [i, text] of HOSTILE.entries()) {
      const hostile = scene.card(`h${i}`)
      t.equal(await hostile.locator('.question').textContent(), text)
      t.equal(await hostile.locator('.context').textContent(), text)
      t.match(await hostile.locator('.left').textContent(), `with the default “${text}”`)
      t.strictSame(await hostile.locator('.options .text').allTextContents(), HOSTILE)
    }
    await scene.card('h0').getByRole('button', { name: HOSTILE[1]! }).click()
    await scene.card('h0').getByRole('button', { name: 'Answer' }).click()
    await scene.recent('h0').waitFor()
    await scene.answer('h1', HOSTILE[2]!)
    await scene.told()
    await scene.recent('h1').waitFor()
    t.equal(await scene.recent('h0').locator('.outcome').textContent(), `You answered: ${HOSTILE[1]}`)
    t.equal(await scene.recent('h1').locator('.outcome').textContent(), `A person answered: ${HOSTILE[2]}`)
    t.equal(await scene.recent('h0').locator('.about').textContent(), HOSTILE[0])
    t.equal(await page.locator('main img, main svg, main a, main script').count(), 0)
    t.equal(await page.title(), '(3) heads-up')
  })

  t.test('the policy stops what would run, and the rig notices', async t => {
    const scene = await open(t)
    const { page } = scene
    await scene.ready()
    const attempts: Array<[directive: string, attempt: () => unknown]> = [
      ['require-trusted-types-for', () => {
        const image = document.createElement('img')
        image.setAttribute('onerror', 'document.title = "owned"')
        document.body.append(image)
        image.dispatchEvent(new Event('error'))
      }],
      ['require-trusted-types-for', () => { document.body.innerHTML = '<p>owned' }],
      ['require-trusted-types-for', () => {
        const script = document.createElement('script')
        script.append('document.title = "owned"')
        document.body.append(script)
      }],
      ['connect-src', () => fetch('http://127.0.0.1:1/')],
      ['style-src-attr', () => document.body.setAttribute('style', 'color: red')],
      ['img-src', () => {
        const image = document.createElement('img')
        image.src = '/healthz'
        document.body.append(image)
      }]
    ]
    const breaches: string[] = []
    for (const [directive, attempt] of attempts) {
      const tab = await page.context().newPage()
      const breach = new Promise<string>(resolve => watchPage(tab, trouble => trouble.startsWith('breach') && resolve(trouble)).then(() => tab.goto(page.url())))
      await tab.locator('.feed').waitFor()
      await tab.evaluate(attempt).catch(() => {})
      breaches.push(await Promise.race([breach, tab.waitForEvent('close', { timeout: 5_000 }).then(() => '', () => `${directive} held nothing back`)]))
      t.match(breaches.at(-1), `breach of the policy: ${directive}`)
      t.equal(await tab.title(), 'heads-up')
      await tab.close()
    }
  })

  t.test('direction and control characters stay in their field and are seen', async t => {
    const scene = await open(t, {
      tickets: {
        p: {
          stream: 'al\u202Epha',
          question: 'Pay \u202E0001\u202C?\u0007',
          context: 'a\tb\r\nc\u0000\u001b[31m\u009b',
          options: ['Yes', 'Y\u200Bes', 'Nо\u2066!\u2069', '\u05DB\u05DF', 'e\u0301 👩‍👩‍👧 ❤️ می‌خواهم']
        }
      }
    })
    const p = scene.card('p')
    await p.waitFor()
    t.equal(await scene.page.locator('.stream h2 bdi').textContent(), 'al⟨U+202E⟩pha')
    t.equal(await p.locator('.question').textContent(), 'Pay ⟨U+202E⟩0001⟨U+202C⟩?⟨U+0007⟩')
    t.equal(await p.locator('.context').textContent(), 'a\tb\nc⟨U+0000⟩⟨U+001B⟩[31m⟨U+009B⟩')
    t.strictSame(await p.locator('.options .text').allTextContents(),
      ['Yes', 'Y⟨U+200B⟩es', 'Nо⟨U+2066⟩!⟨U+2069⟩', '\u05DB\u05DF', 'e\u0301 👩‍👩‍👧 ❤️ می‌خواهم'], 'what a script needs to be written is left alone')
    const boxes = await p.evaluate(node => {
      const outer = node.getBoundingClientRect()
      return [...node.querySelectorAll('.text, bdi')].map(n => n.getBoundingClientRect()).filter(r => r.width > 0)
        .every(r => r.left >= outer.left && r.right <= outer.right && r.top >= outer.top && r.bottom <= outer.bottom)
    })
    t.ok(boxes)
  })

  t.test('what is sent is the option itself, not how it is shown', async t => {
    const scene = await open(t, { tickets: { p: { options: ['Yes', 'Y\u200Bes'] } } })
    await scene.card('p').waitFor()
    await scene.page.keyboard.press('2')
    await scene.page.keyboard.press('Enter')
    await scene.recent('p').waitFor()
    t.equal((await scene.ticket('p')).answer, 'Y\u200Bes')
  })

  t.test('a ticket decided elsewhere tells how, keeps what was typed, and changes no other', async t => {
    const ways = {
      answered: { settle: 'answer', says: /^Already answered: Theirs, at \d\d:\d\d:\d\d$/ },
      cancelled: { settle: 'cancel', says: /^Cancelled by the agent, at \d\d:\d\d:\d\d$/ },
      expired: { settle: 'expire', says: /^Expired, default applied: Wait, at \d\d:\d\d:\d\d$/ }
    } as const
    for (const how of ['answered', 'cancelled', 'expired'] as const) {
      const { settle, says } = ways[how]
      const wait = { default_answer: 'Wait' }
      const scene = await open(t, { polls: true, tickets: { o: wait, p: { ...wait, ...(settle === 'expire' && { timeout_seconds: 3 }) }, q: wait } })
      const { page } = scene
      await scene.ready()
      await scene.card('p').getByRole('textbox').fill('Mine, with care')
      await scene.keepUninformed()
      if (settle === 'answer') await scene.answer('p', 'Theirs')
      if (settle === 'cancel') await scene.cancel('p')
      await eventually(async () => (await scene.ticket('p')).status === how, 'settled elsewhere')
      await page.keyboard.press('Enter')
      const p = scene.card('p')
      await p.locator('.closed').waitFor()
      t.strictSame(scene.sent, [{ name: 'p', answer: 'Mine, with care' }], 'and was refused')
      t.match(await p.locator('.outcome').textContent(), says)
      t.equal(await p.locator('.kept').inputValue(), 'Mine, with care')
      t.equal(await p.locator('.act').isVisible(), false)
      await p.getByRole('button', { name: 'Copy the text' }).click()
      await page.getByText('Copied.').waitFor()
      t.equal((await scene.ticket('p')).status, how)
      t.strictSame([(await scene.ticket('o')).status, (await scene.ticket('q')).status], ['pending', 'pending'])
      await p.getByRole('button', { name: 'Dismiss' }).click()
      await p.waitFor({ state: 'detached' })
      t.equal(await page.title(), '(2) heads-up')
      for (const name of ['o', 'q']) await scene.cancel(name)
    }
  })

  t.test('a draft is kept when news settles its ticket', async t => {
    const scene = await open(t, { tickets: ['p', 'q'] })
    const { page } = scene
    await scene.ready()
    await scene.card('p').getByRole('textbox').fill('half a thought')
    await scene.answer('p', 'Theirs')
    await scene.told()
    await scene.card('p').locator('.outcome').getByText('Already answered: Theirs').waitFor()
    await page.keyboard.press('Enter')
    t.equal(await scene.card('p').locator('.kept').inputValue(), 'half a thought')
    t.equal(scene.sent.length, 0)
    t.equal(await page.title(), '(1) heads-up')
  })
}
