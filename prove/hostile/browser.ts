import { chromium, type BrowserContext, type Page, type Response } from 'playwright-core'
// @ts-expect-error a script without types
import { findChromium as find } from '../../scripts/chromium.mjs'
import { eventually } from '../../test/helpers/process'
import { raw as sendRaw } from './wire'
import { Daemon } from './daemon'
import { OtherSite } from './pages'
import type { Ticket, TicketView } from '../../schemas/ticket'
import type { AuditEntry } from '../../schemas/event'
import type { Proof, ProofOptions } from '../harness'

const findChromium = find as () => Promise<string>

const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  // Names that lead to this machine, as a rebinding name server would have it; nothing else is looked up.
  '--host-resolver-rules=MAP evil.test 127.0.0.1, MAP *.evil.test 127.0.0.1, MAP evil.test. 127.0.0.1, MAP 127.0.0.1.nip.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'
]
const DEADLINE_MS = 10_000

/** What a page of somebody else managed to do. */
interface Got { what: string, got: string }

/** Names that a rebinding page may have in its address, and that lead to this machine. */
const NAMES = ['evil.test', 'EVIL.test', 'evil.test.', 'localhost.evil.test', '127.0.0.1.evil.test', '127.0.0.1.nip.test', 'a.b.evil.test']

/** The same, as they stand in a Host header; the browser spells them its own way, so these go over a socket. */
const SPELLINGS = ['evil.test', 'EVIL.TEST', 'evil.test.', 'evil.test:80', 'localhost.evil.test', '127.0.0.1.evil.test', 'localhost@evil.test', 'evil.test#127.0.0.1', 'evil.test\\127.0.0.1', '0.0.0.0', '[::]',
  '10.0.0.1', '[::ffff:10.0.0.1]', 'xn--lcalhost-9gf', 'l\u00f6calhost', 'localhost%2eevil.test', '127.0.0.1, evil.test', 'evil.test, 127.0.0.1', '', ' ', '127.0.0.1 evil.test', '1', '3232235521', '0x0a000001', 'localhost\tevil.test']

/** Run in the page: everything that it can send with a body, to one address. Each resolves with what could be read, or ''. */
const SEND = `async (url, body) => {
  const found = []
  const note = (what, got) => { if (got) found.push({ what, got: String(got).slice(0, 200) }) }
  const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'text/plain; charset=application/json', '']
  for (const mode of ['cors', 'no-cors', 'same-origin', 'navigate']) for (const credentials of ['omit', 'include']) for (const type of types) {
    try {
      const init = { method: 'POST', mode, credentials, body: type === '' ? new Blob([body]) : body, signal: AbortSignal.timeout(3000), ...(type && { headers: { 'content-type': type } }) }
      const response = await fetch(url, init)
      note('POST ' + mode + ' ' + credentials + ' ' + type, await response.text())
    } catch {}
  }
  for (const mode of ['cors', 'no-cors']) for (const credentials of ['omit', 'include']) for (const method of ['GET', 'HEAD']) {
    try { note(method + ' ' + mode, await (await fetch(url, { method, mode, credentials, signal: AbortSignal.timeout(3000) })).text()) } catch {}
  }
  for (const type of types) navigator.sendBeacon(url, new Blob([body], { type }))
  try {
    const request = new XMLHttpRequest()
    request.open('POST', url, false)
    request.setRequestHeader('content-type', 'text/plain')
    request.send(body)
    note('XMLHttpRequest', request.responseText)
  } catch {}
  return found
}`

/** Run in the page: what it can load from an address without asking. */
const LOAD = `async url => {
  const found = []
  const outcome = (element, attribute, ready) => new Promise(resolve => {
    const done = what => { element.remove(); resolve(what) }
    element[attribute] = url
    element.onload = () => done(ready(element))
    element.onerror = () => done('')
    document.body.append(element)
    setTimeout(() => done(''), 2000)
  })
  const note = (what, got) => { if (got) found.push({ what, got: String(got).slice(0, 200) }) }
  const before = Object.keys(globalThis).length
  await outcome(document.createElement('script'), 'src', () => '')
  note('script', Object.keys(globalThis).length > before ? 'a global' : '')
  note('image', await outcome(new Image(), 'src', image => image.naturalWidth))
  const style = Object.assign(document.createElement('link'), { rel: 'stylesheet' })
  note('style', await outcome(style, 'href', () => { try { return style.sheet.cssRules.length } catch { return '' } }))
  note('frame', await outcome(document.createElement('iframe'), 'src', frame => { try { return frame.contentDocument.body.innerText } catch { return '' } }))
  await new Promise(resolve => {
    const events = new EventSource(url, { withCredentials: true })
    const end = () => { events.close(); resolve() }
    events.onopen = () => { note('EventSource', 'open'); end() }
    events.onmessage = event => { note('EventSource', event.data); end() }
    events.onerror = end
    setTimeout(end, 2000)
  })
  return found
}`

/** Forms that send themselves, each into a frame of its own. */
const selfSending = (action: string, kinds: Array<[type: string, fields: Record<string, string>]>): string => kinds.map(([type, fields], index) => {
  const inputs = Object.entries(fields).map(([name, value]) => `<input name='${name}' value='${value}'>`)
  return `<form method="post" enctype="${type}" action="${action}" target="sink${index}">${inputs.join('')}</form><iframe name="sink${index}"></iframe>`
}).join('') + '<script>for (const form of document.forms) form.submit()</script>'

/** One daemon, one browser, and whoever else has a page open in it. */
class Browsing {
  readonly broken: string[] = []
  tried = 0
  readonly #daemon: Daemon
  readonly #site: OtherSite
  readonly #context: BrowserContext
  readonly #id: string

  constructor (daemon: Daemon, site: OtherSite, context: BrowserContext, id: string) {
    this.#daemon = daemon
    this.#site = site
    this.#context = context
    this.#id = id
  }

  /** Each address that changes something, with what it would need to hear. */
  get #targets (): Array<[path: string, body: string]> {
    const call = (name: string, args: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
    return [
      ['/api/answer', JSON.stringify({ id: this.#id, answer: 'stolen' })], ['/api/undo', JSON.stringify({ id: this.#id })],
      ['/mcp/evil', call('ask_human', { question: 'stolen' })], ['/mcp', call('cancel_ticket', { id: this.#id })],
      ['/internal/tool-call', JSON.stringify({ tool: 'cancel_ticket', id: this.#id })], ['/internal/stop', '{}'], ['/internal/hand-over', '{"version":"99.0.0","protocol":99}'],
      ['/internal/prove', '{"nonce":"nnnnnnnnnnnnnnnnnnnnnnnn"}']
    ]
  }

  async #open (url: string): Promise<Page> {
    const page = await this.#context.newPage()
    page.setDefaultTimeout(DEADLINE_MS)
    await page.goto(url).catch(() => {})
    return page
  }

  #note (where: string, found: Got[]): void {
    for (const { what, got } of found) this.broken.push(`${where} could read, by ${what}: ${got}`)
  }

  /** fetch, beacons, frames and what else a script can do, from a page at this address. */
  async scripts (where: string, url: string): Promise<void> {
    const page = await this.#open(url)
    for (const [path, body] of this.#targets) {
      this.tried++
      this.#note(`${where} -> ${path}`, await page.evaluate(`(${SEND})(${JSON.stringify(this.#daemon.origin + path)}, ${JSON.stringify(body)})`) as Got[])
    }
    for (const path of ['/', '/api/tickets', '/api/events', '/api/audit', '/internal/identity', '/internal/status']) {
      this.tried++
      this.#note(`${where} -> ${path}`, await page.evaluate(`(${LOAD})(${JSON.stringify(this.#daemon.origin + path)})`) as Got[])
    }
    await page.close()
  }

  /** Forms, which no preflight goes before, in each encoding that they have. */
  async forms (host: string): Promise<void> {
    const page = await this.#context.newPage()
    for (const [path, body] of this.#targets) {
      const kinds: Array<[string, Record<string, string>]> = [
        ['application/x-www-form-urlencoded', { id: this.#id, answer: 'stolen' }],
        ['multipart/form-data', { id: this.#id, answer: 'stolen' }],
        // `name=value` as text is JSON where the equals sign falls into a text.
        ['text/plain', { [`${body.slice(0, -1)},"x":"`]: '"}' }]
      ]
      const statuses: number[] = []
      const heard = (response: Response): void => { if (response.url() === this.#daemon.origin + path) statuses.push(response.status()) }
      page.on('response', heard)
      await page.goto(`http://${host}:${this.#site.port}${this.#site.put(selfSending(this.#daemon.origin + path, kinds))}`)
      await eventually(() => statuses.length >= kinds.length || undefined, `the answers to ${kinds.length} forms from ${host} to ${path}`)
      page.off('response', heard)
      this.tried += kinds.length
      for (const status of statuses) if (status < 400) this.broken.push(`A form from ${host} to ${path} is answered with ${status}`)
    }
    await page.close()
  }

  /** Pages without an origin: a sandboxed frame and a data address. */
  async nobodies (): Promise<void> {
    const script = `<script>(async () => { const send = ${SEND}; const found = []; for (const [url, body] of ${JSON.stringify(this.#targets.map(([path, body]) => [this.#daemon.origin + path, body]))}) found.push(...await send(url, body)); parent.postMessage(found, '*') })()</script>`
    const frame = (attributes: string): string =>
      `<script>globalThis.told = new Promise(resolve => addEventListener('message', event => resolve(event.data), { once: true }))</script><iframe ${attributes}></iframe>`
    const quoted = script.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    for (const [name, attributes] of [['a sandboxed frame', `sandbox="allow-scripts" srcdoc="${quoted}"`], ['a data address', `src="data:text/html;base64,${Buffer.from(script).toString('base64')}"`]] as const) {
      this.tried++
      const page = await this.#open(`http://localhost:${this.#site.port}${this.#site.put(frame(attributes))}`)
      const told = await Promise.race([page.evaluate('told') as Promise<Got[]>, page.waitForTimeout(60_000).then(() => undefined)])
      if (told === undefined) this.broken.push(`${name} told nothing: the attack was not made`)
      else this.#note(name, told)
      await page.close()
    }
  }

  /** The page itself under a name that has been pointed here: it would be same-origin. */
  async rebinding (names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.tried++
      const origin = `http://${name}:${this.#daemon.port}`
      const page = await this.#context.newPage()
      const response = await page.goto(`${origin}/`)
      if (response?.status() !== 421) this.broken.push(`The page under ${name} is answered with ${response?.status()}`)
      const found = await page.evaluate(`(async () => {
        const found = []
        for (const [path, body] of ${JSON.stringify(this.#targets)}) {
          const answer = await fetch(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } }).catch(() => undefined)
          if (answer && answer.status !== 421) found.push({ what: 'POST ' + path, got: answer.status + await answer.text() })
        }
        for (const path of ['/api/tickets', '/api/audit', '/internal/identity', '/healthz']) {
          const answer = await fetch(path).catch(() => undefined)
          if (answer && answer.status !== 421) found.push({ what: path, got: answer.status + await answer.text() })
        }
        return found
      })()`) as Got[]
      this.#note(`A page under ${name}`, found)
      await page.close()
    }
  }

  /** What no browser sends, and a proxy might. */
  async spellings (): Promise<void> {
    const { port, origin } = this.#daemon
    const ask = async (path: string, fields: string[]): Promise<number | undefined> => {
      this.tried++
      const { replies } = await sendRaw(port, Buffer.from(`${[`GET ${path} HTTP/1.1`, ...fields, 'connection: close'].join('\r\n')}\r\n\r\n`, 'latin1'))
      return replies[0]?.status
    }
    for (const name of SPELLINGS) {
      for (const host of [name, `${name}:${port}`]) {
        const status = await ask('/api/tickets', [`host: ${host}`])
        if (status !== 421 && status !== 400) this.broken.push(`Host ${JSON.stringify(host)} is answered with ${status}`)
      }
    }
    const own = `host: 127.0.0.1:${port}`
    for (const origins of [['null'], [origin, 'https://evil.test'], ['https://evil.test', origin], [origin, origin], [`${origin}, ${origin}`], [''], [`${origin}/`], [`${origin}.evil.test`], ['http://localhost:1']]) {
      const status = await ask('/api/tickets', [own, ...origins.map(value => `origin: ${value}`)])
      if (status !== 403) this.broken.push(`Origin ${JSON.stringify(origins)} is answered with ${status}`)
    }
  }

  /** Nothing of it left a trace: the log has the one entry that was there before. */
  async check (): Promise<void> {
    if (!this.#daemon.isAlive) {
      this.broken.push('The daemon has ended')
      return
    }
    const { entries } = await (await fetch(`${this.#daemon.origin}/api/audit`)).json() as { entries: AuditEntry[] }
    for (const entry of entries.slice(1)) this.broken.push(`A page of somebody else did this: ${JSON.stringify(entry)}`)
    const { tickets } = await (await fetch(`${this.#daemon.origin}/api/tickets`)).json() as { tickets: TicketView[] }
    if (tickets.length !== 1 || tickets[0]?.status !== 'pending') this.broken.push('The ticket is not as it was')
  }
}

async function enqueue ({ origin }: Daemon): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'Mine alone?' } } })
  const response = await fetch(`${origin}/mcp/agent`, { method: 'POST', headers: { origin, 'content-type': 'application/json' }, body })
  return (await response.json() as { result: { structuredContent: Ticket } }).result.structuredContent.id
}

/** What pages of other origins can do from the person's own browser: nothing that changes a ticket, and nothing that reads one. */
export async function browserAttacks ({ form, say }: ProofOptions): Promise<Proof> {
  const daemon = await Daemon.start()
  const site = await OtherSite.start()
  const browser = await chromium.launch({ executablePath: await findChromium(), args: ARGUMENTS })
  try {
    const browsing = new Browsing(daemon, site, await browser.newContext(), await enqueue(daemon))
    const empty = site.put('<body></body>')
    const steps: Record<string, () => Promise<void>> = {
      'scripts of another port': () => browsing.scripts('A page of another port', `http://localhost:${site.port}${empty}`),
      'scripts of another site': () => browsing.scripts('A page of another site', `http://evil.test:${site.port}${empty}`),
      forms: () => browsing.forms('evil.test'),
      'forms of another port': () => browsing.forms('127.0.0.1'),
      'pages without an origin': () => browsing.nobodies(),
      rebinding: () => browsing.rebinding(form === 'short' ? NAMES.slice(0, 4) : NAMES),
      'spellings over a socket': () => browsing.spellings()
    }
    const figures: Proof['figures'] = []
    for (const [name, step] of Object.entries(steps)) {
      const before = browsing.tried
      await step()
      await browsing.check()
      figures.push([`from a browser: ${name}`, `${browsing.tried - before} tried`])
      say(`${name}: ${browsing.tried - before} tried`)
    }
    return { figures, broken: browsing.broken }
  } finally {
    await browser.close()
    await site.close()
    await daemon.stop()
  }
}
