import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import type { Test } from 'tap'
// @ts-expect-error a script without types
import { findChromium as find } from '../../scripts/chromium.mjs'
import { PageServer, type PageServerOptions } from './page-server'

const findChromium = find as () => Promise<string>

// Nothing outside the loopback is looked up or reached: a page that needs the network would fail here.
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'
]

const DEADLINE_MS = 10_000

/** One Chromium for a test file. Rejects with the remedy where there is none. */
export async function launchBrowser (t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: await findChromium(), args: ARGUMENTS })
  t.teardown(() => browser.close())
  return browser
}

export interface Visit extends PageServerOptions {
  context?: BrowserContextOptions
  /** The page's clock is the test's to move. */
  clock?: boolean
  /** Runs before the page is opened: to fill the queue, mostly. */
  before?: (server: PageServer) => unknown
}

/** A page server, a browser profile of its own and a page on it; all of it ends with the test. */
export async function visit (
  t: Test, browser: Browser, { context: options, before, clock, ...rest }: Visit = {}
): Promise<{ server: PageServer, page: Page, context: BrowserContext }> {
  const server = await new PageServer(rest).listen()
  const context = await browser.newContext({ viewport: { width: 1_000, height: 900 }, locale: 'en-GB', ...options })
  context.setDefaultTimeout(DEADLINE_MS)
  t.teardown(async () => {
    await context.close()
    await server.close()
  })
  if (clock) await context.clock.install()
  before?.(server)
  const page = await openPage(t, context, server.url)
  return { server, page, context }
}

/** Opens one more tab. An error in the page or a breach of its policy fails the test. */
export async function openPage (t: Test, context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await watchPage(page, trouble => t.fail(trouble))
  await page.goto(url)
  return page
}

/** Calls `report` for each uncaught error and each breach of the Content-Security-Policy, Trusted Types included. */
export async function watchPage (page: Page, report: (trouble: string) => void): Promise<void> {
  page.on('pageerror', err => report(`error in the page: ${err.message}`))
  await page.exposeFunction('reportBreach', (what: string) => report(`breach of the policy: ${what}`))
  // A text, since this file is checked without a browser's types: acceptance tests use it too.
  await page.addInitScript({
    content: "addEventListener('securitypolicyviolation', e => reportBreach([e.violatedDirective, e.blockedURI, e.sample].join(' ')))"
  })
}

export const card = (page: Page, id: string): Locator => page.locator(`.card[data-id="${id}"]`)
export const recent = (page: Page, id: string): Locator => page.locator(`#recent li[data-id="${id}"]`)
export const live = (page: Page): Promise<void> => page.locator('.feed.live').waitFor()
