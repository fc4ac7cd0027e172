import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { card, launchBrowser, live, openPage, recent, visit, watchPage } from '../helpers/browser'

const browser = await launchBrowser(t)

const HOSTILE = [
  '<img src=x onerror="document.title=\'owned\'">',
  '<a href="javascript:document.title=\'owned\'">click</a>',
  '</script><script>document.title="owned"</script>',
  // eslint-disable-next-line no-template-curly-in-string -- an expression is what it tries
  '{{constructor.constructor("document.title=1")()}}${document.title=1}',
  '<svg onload="document.title=\'owned\'"></svg>'
]

t.test('agent text that tries to run is shown as text everywhere', async t => {
  const { page, server } = await visit(t, browser, {
    before: server => HOSTILE.forEach((text, i) => server.enqueue({
      id: `h${i}`, stream: text, question: text, context: text, default_answer: text, options: [...HOSTILE]
    }))
  })
  await live(page)
  t.strictSame((await page.locator('.stream h2 bdi').allTextContents()).sort(), [...HOSTILE].sort())
  for (const [i, text] of HOSTILE.entries()) {
    const hostile = card(page, `h${i}`)
    t.equal(await hostile.locator('.question').textContent(), text)
    t.equal(await hostile.locator('.context').textContent(), text)
    t.match(await hostile.locator('.left').textContent(), `with the default “${text}”`)
    t.strictSame(await hostile.locator('.options .text').allTextContents(), HOSTILE)
  }
  await card(page, 'h0').getByRole('button', { name: HOSTILE[1]! }).click()
  await card(page, 'h0').getByRole('button', { name: 'Answer' }).click()
  await recent(page, 'h0').waitFor()
  server.expire('h1')
  await recent(page, 'h1').waitFor()
  t.equal(await recent(page, 'h0').locator('.outcome').textContent(), `You answered: ${HOSTILE[1]}`)
  t.equal(await recent(page, 'h1').locator('.outcome').textContent(), `Expired, default applied: ${HOSTILE[1]}`)
  t.equal(await recent(page, 'h0').locator('.about').textContent(), HOSTILE[0])
  t.equal(await page.locator('main img, main svg, main a, main script').count(), 0)
  t.equal(await page.title(), '(3) heads-up')
})

t.test('the policy stops what would run, and the rig notices', async t => {
  const { page } = await visit(t, browser)
  await live(page)
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
  const { page } = await visit(t, browser, {
    before: server => server.enqueue({
      id: 'p',
      stream: 'al\u202Epha',
      question: 'Pay \u202E0001\u202C?\u0007',
      context: 'a\tb\r\nc\u0000\u001b[31m\u009b',
      options: ['Yes', 'Y\u200Bes', 'Nо\u2066!\u2069', '\u05DB\u05DF', 'e\u0301 👩‍👩‍👧 ❤️ می‌خواهم']
    })
  })
  await card(page, 'p').waitFor()
  t.equal(await page.locator('.stream h2 bdi').textContent(), 'al⟨U+202E⟩pha')
  t.equal(await card(page, 'p').locator('.question').textContent(), 'Pay ⟨U+202E⟩0001⟨U+202C⟩?⟨U+0007⟩')
  t.equal(await card(page, 'p').locator('.context').textContent(), 'a\tb\nc⟨U+0000⟩⟨U+001B⟩[31m⟨U+009B⟩')
  t.strictSame(await card(page, 'p').locator('.options .text').allTextContents(),
    ['Yes', 'Y⟨U+200B⟩es', 'Nо⟨U+2066⟩!⟨U+2069⟩', '\u05DB\u05DF', 'e\u0301 👩‍👩‍👧 ❤️ می‌خواهم'], 'what a script needs to be written is left alone')
  const boxes = await card(page, 'p').evaluate(node => {
    const outer = node.getBoundingClientRect()
    return [...node.querySelectorAll('.text, bdi')].map(n => n.getBoundingClientRect()).filter(r => r.width > 0)
      .every(r => r.left >= outer.left && r.right <= outer.right && r.top >= outer.top && r.bottom <= outer.bottom)
  })
  t.ok(boxes)
})

t.test('what is sent is the option itself, not how it is shown', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'Y\u200Bes'] }) })
  await card(page, 'p').waitFor()
  await page.keyboard.press('2')
  await page.keyboard.press('Enter')
  await recent(page, 'p').waitFor()
  t.equal(server.answers[0]?.answer, 'Y\u200Bes')
})

// Playwright's keyboard composes nothing: the events are those that an input method sends.
const key = (page: Page, id: string, init: { key: string, isComposing?: boolean, keyCode?: number, repeat?: boolean, timeStamp?: number }, target = 'textarea') =>
  page.evaluate(({ id, init, target }) => {
    const event = new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init })
    if (init.timeStamp !== undefined) Object.defineProperty(event, 'timeStamp', { value: init.timeStamp })
    document.querySelector(`.card[data-id="${id}"] ${target}`)!.dispatchEvent(event)
  }, { id, init, target })

t.test('nothing is picked or sent while an input method composes', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  const field = card(page, 'p').locator('.act textarea')
  await field.focus()
  await field.dispatchEvent('compositionstart')
  await field.evaluate(node => {
    (node as HTMLTextAreaElement).value = '日本'
    node.dispatchEvent(new InputEvent('input', { bubbles: true, isComposing: true }))
  })
  await key(page, 'p', { key: 'Enter', isComposing: true })
  await key(page, 'p', { key: 'Enter', keyCode: 229 })
  await key(page, 'p', { key: '1', isComposing: true })
  await key(page, 'p', { key: '2', keyCode: 229 }, '.question')
  await key(page, 'p', { key: 'Enter', isComposing: true }, '.question')
  await field.dispatchEvent('compositionend')
  t.equal(await card(page, 'p').locator('[aria-pressed=true]').count(), 0)
  t.equal(server.seen.filter(({ method }) => method === 'POST').length, 0)
  await field.press('Enter')
  await recent(page, 'p').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: '日本' }], 'then once, and whole')
})

t.test('a key that repeats by itself neither picks nor sends', async t => {
  const { page, server } = await visit(t, browser, { before: server => ['p', 'q'].forEach(id => server.enqueue({ id, options: ['Yes', 'No'] })) })
  await card(page, 'p').waitFor()
  await page.keyboard.down('1')
  await page.keyboard.down('Enter')
  await recent(page, 'p').waitFor()
  for (let i = 0; i < 3; i++) {
    await page.keyboard.down('1')
    await page.keyboard.down('Enter')
  }
  t.equal(await card(page, 'q').locator('[aria-pressed=true]').count(), 0)
  await page.keyboard.up('1')
  await page.keyboard.up('Enter')
  await card(page, 'q').getByRole('button', { name: 'Yes' }).click()
  await card(page, 'q').getByRole('button', { name: 'Answer' }).focus()
  await page.keyboard.down('Shift')
  await key(page, 'q', { key: 'Enter', repeat: true }, '.answer')
  await page.keyboard.up('Shift')
  await card(page, 'q').locator('.act textarea').fill('text')
  await key(page, 'q', { key: 'Enter', repeat: true })
  t.strictSame(server.answers, [{ id: 'p', answer: 'Yes' }])
  t.equal(server.seen.filter(({ method }) => method === 'POST').length, 1)
})

t.test('a key that went down before the ticket was shown and selected does not act on it', async t => {
  const { page, server } = await visit(t, browser, { before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await card(page, 'p').waitFor()
  const pressed = () => card(page, 'p').locator('[aria-pressed=true]').count()
  await key(page, 'p', { key: '1', timeStamp: 1 }, '.question')
  t.equal(await pressed(), 0)
  await page.keyboard.press('1')
  t.equal(await pressed(), 1)
  await key(page, 'p', { key: 'Enter', timeStamp: 1 }, '.question')
  t.equal(server.seen.filter(({ method }) => method === 'POST').length, 0)
  await page.keyboard.press('Enter')
  await recent(page, 'p').waitFor()
  t.equal(server.answers.length, 1)
})

t.test('a key on a ticket that is scrolled away shows it first', async t => {
  const { page } = await visit(t, browser, { before: server => Array.from({ length: 12 }, () => server.enqueue({ options: ['Yes', 'No'] })) })
  await card(page, 't0001').waitFor()
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  await page.keyboard.press('1')
  t.equal(await page.locator('[aria-pressed=true]').count(), 0)
  await page.keyboard.press('1')
  t.equal(await card(page, 't0001').locator('[aria-pressed=true]').count(), 1)
})

t.test('a second Enter does not send an old draft of the ticket that moved up', async t => {
  const { page, server } = await visit(t, browser, { before: server => ['p', 'q'].forEach(id => server.enqueue({ id })) })
  await card(page, 'q').getByRole('textbox').fill('not yet thought through')
  await card(page, 'p').getByRole('textbox').fill('done')
  await page.keyboard.press('Enter')
  await recent(page, 'p').waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('Press Enter once more to send what already stood here.').waitFor()
  t.equal(server.answers.length, 1)
  await page.keyboard.press('Enter')
  await recent(page, 'q').waitFor()
  t.equal(server.answers[1]?.answer, 'not yet thought through')
})

t.test('a ticket decided elsewhere tells how, keeps what was typed, and changes no other', async t => {
  const settle = {
    answered: (s: Awaited<ReturnType<typeof visit>>['server']) => s.answer('p', 'Theirs'),
    cancelled: (s: Awaited<ReturnType<typeof visit>>['server']) => s.cancel('p'),
    expired: (s: Awaited<ReturnType<typeof visit>>['server']) => s.expire('p')
  }
  const words = {
    answered: /^Already answered: Theirs, at \d\d:\d\d:\d\d$/,
    cancelled: /^Cancelled by the agent, at \d\d:\d\d:\d\d$/,
    expired: /^Expired, default applied: Wait, at \d\d:\d\d:\d\d$/
  }
  for (const how of ['answered', 'cancelled', 'expired'] as const) {
    const { page, server } = await visit(t, browser, {
      events: 'refused', before: server => ['o', 'p', 'q'].forEach(id => server.enqueue({ id, default_answer: 'Wait' }))
    })
    await card(page, 'p').getByRole('textbox').fill('Mine, with care')
    settle[how](server)
    await page.keyboard.press('Enter')
    await card(page, 'p').locator('.closed').waitFor()
    t.match(await card(page, 'p').locator('.outcome').textContent(), words[how])
    t.equal(await card(page, 'p').locator('.kept').inputValue(), 'Mine, with care')
    t.equal(await card(page, 'p').locator('.act').isVisible(), false)
    await card(page, 'p').getByRole('button', { name: 'Copy the text' }).click()
    await page.getByText('Copied.').waitFor()
    t.strictSame(server.answers, [])
    t.strictSame(['o', 'q'].map(id => server.tickets.get(id)!.status), ['pending', 'pending'])
    await card(page, 'p').getByRole('button', { name: 'Dismiss' }).click()
    await card(page, 'p').waitFor({ state: 'detached' })
    t.equal(await page.title(), '(2) heads-up')
  }
})

t.test('a draft is kept when an event settles its ticket', async t => {
  const { page, server } = await visit(t, browser, { before: server => ['p', 'q'].forEach(id => server.enqueue({ id })) })
  await live(page)
  await card(page, 'p').getByRole('textbox').fill('half a thought')
  server.answer('p', 'Theirs')
  await card(page, 'p').locator('.outcome').getByText('Already answered: Theirs').waitFor()
  await page.keyboard.press('Enter')
  t.equal(await card(page, 'p').locator('.kept').inputValue(), 'half a thought')
  t.equal(server.seen.filter(({ method }) => method === 'POST').length, 0)
  t.equal(await page.title(), '(1) heads-up')
})

t.test('below a sub-path everything works, with and without the final slash', async t => {
  const { page, server, context } = await visit(t, browser, { prefix: '/ready', before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await live(page)
  for (const path of ['/ready', '/ready/']) {
    const tab = await openPage(t, context, server.origin + path)
    await tab.reload()
    await live(tab)
    await tab.keyboard.press('1')
    await tab.keyboard.press('Enter')
    await recent(tab, 'p').waitFor()
    await tab.keyboard.press('u')
    await card(tab, 'p').waitFor()
    await tab.close()
  }
  t.strictSame(server.answers.map(({ answer }) => answer), ['Yes', 'Yes'])
  t.strictSame(server.seen.filter(({ url }) => url.startsWith('/outside')), [])
})

t.test('under a prefix inside another Fastify application it works, too', async t => {
  const { page, server, context } = await visit(t, browser, { prefix: '/team/ready', mounted: true, before: server => server.enqueue({ id: 'p', options: ['Yes', 'No'] }) })
  await live(page)
  const tab = await openPage(t, context, `${server.origin}/team/ready`)
  await live(tab)
  await tab.keyboard.press('2')
  await tab.keyboard.press('Enter')
  await recent(page, 'p').waitFor()
  t.strictSame(server.answers, [{ id: 'p', answer: 'No' }])
  t.ok(server.seen.every(({ url }) => url.startsWith('/team/ready') || url === '/favicon.ico'))
})

t.test('a plain file server is enough to show it, under whatever name', async t => {
  const { page, server, context } = await visit(t, browser, { before: server => server.enqueue({ id: 'p' }) })
  const html = readFileSync(new URL('../../public/index.html', import.meta.url))
  await context.route('**/files/*.html', route => route.fulfill({ contentType: 'text/html', body: html }))
  await context.route('**/files/api/**', async route => {
    const path = new URL(route.request().url()).pathname.replace('/files', '')
    if (path === '/api/events') return route.fulfill({ status: 501, contentType: 'text/plain', body: 'Poll.' })
    return route.fulfill({ json: path === '/api/tickets' ? { now: server.iso(), tickets: [...server.tickets.values()] } : server.answer('p', route.request().postDataJSON().answer) })
  })
  for (const name of ['index.html', 'heads-up.html']) {
    server.enqueue({ id: 'p', question: name })
    await page.goto(`${server.origin}/files/${name}`)
    await page.getByText('Polling every 5 s').waitFor()
    await card(page, 'p').getByRole('textbox').fill(`by ${name}`)
    await page.keyboard.press('Enter')
    await recent(page, 'p').getByText(`You answered: by ${name}`).waitFor()
  }
  t.equal(server.tickets.get('p')!.answer, 'by heads-up.html')
})
