import { readFileSync } from 'node:fs'
import t from 'tap'
import { card, launchBrowser, live, openPage, recent, visit } from '../helpers/browser'

const browser = await launchBrowser(t)

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
