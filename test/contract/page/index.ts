import type { Browser } from 'playwright-core'
import type { Test } from 'tap'
import { drain } from './drain'
import { keys } from './keys'
import { looks } from './looks'
import { queue } from './queue'
import { safety } from './safety'
import { opener, type PageTarget } from './scene'

export type { PageRoom, PageTarget } from './scene'

/** What the heads-up page does for a person, whichever Ready Room stands behind it. */
export function pageContract (t: Test, browser: Browser, target: PageTarget): void {
  const open = opener(browser, target)
  t.test(`${target.name}: draining`, async t => drain(t, open))
  t.test(`${target.name}: keys`, async t => keys(t, open))
  t.test(`${target.name}: the queue`, async t => queue(t, open))
  t.test(`${target.name}: safety`, async t => safety(t, open))
  t.test(`${target.name}: small screens`, async t => looks(t, open))
}
