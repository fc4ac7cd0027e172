import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'
import { openPage } from './browser'
import { listenWithRooms, type OpenRooms } from './rooms'

const DEADLINE_MS = 10_000
export const OWNER_TOKEN = 'an-owner-token-of-a-test-1234'

export interface Console extends OpenRooms {
  /** A browser profile of its own with the page open. A token is typed where one is given. */
  open (path: string, options?: { token?: string, context?: BrowserContextOptions }): Promise<{ page: Page, context: BrowserContext }>
  /** What a script of somebody else does under `/v1`. */
  call (path: string, body: object, token?: string): Promise<Record<string, unknown>>
}

/** The product with rooms and the pages, and a browser to open them with. */
export async function openConsole (t: Test, browser: Browser, options: Parameters<typeof listenWithRooms>[1] = {}): Promise<Console> {
  const open = await listenWithRooms(t, options)
  return {
    ...open,
    async open (path, { token, context: more } = {}) {
      const context = await browser.newContext({ viewport: { width: 1_000, height: 900 }, locale: 'en-GB', ...more })
      context.setDefaultTimeout(DEADLINE_MS)
      t.teardown(() => context.close())
      const page = await openPage(t, context, `${open.origin}${path}`)
      if (token !== undefined) await typeToken(page, token)
      return { page, context }
    },
    async call (path, body, token) {
      const headers = { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
      const response = await fetch(`${open.origin}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      const answer = await response.json() as Record<string, unknown>
      if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
      return answer
    }
  }
}

export async function typeToken (page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Open', exact: true }).click()
}
