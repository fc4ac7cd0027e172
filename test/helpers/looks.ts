import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { PageServer } from './page-server'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const PHONE: BrowserContextOptions = { viewport: { width: 375, height: 667 }, isMobile: true, hasTouch: true }

/** A queue with something of every kind in it. */
export function fill (server: PageServer): void {
  const long = Array.from({ length: 40 }, (_, i) => `line ${i} of what the build said`).join('\n')
  server.enqueue({ id: 'a', stream: 'payments', question: 'Run the migration now?', options: ['Now', 'After six', 'Never'], default_answer: 'Never', urgency: 'blocking', context: long })
  server.enqueue({ id: 'b', stream: 'payments', question: 'Which name?', urgency: 'low' })
  server.enqueue({ id: 'c', stream: 'docs', question: 'Raise the minimum version?', options: ['Yes', 'No'] })
  server.enqueue({ id: 'd', stream: 'docs' })
  server.answer('d', 'As you like')
}

/** What axe-core finds, in words. The page's policy must be off, since it would not let the checker in. */
export async function violations (page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations, passes } = await page.evaluate(() => (globalThis as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run())
  if (passes.length < 10) throw new Error('axe has looked at nothing')
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`)
}
