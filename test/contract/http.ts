import type { Test } from 'tap'
import { badRequests } from './http-bad-requests'
import { guards } from './http-guards'
import { routes } from './http-routes'
import { settling } from './http-settling'
import type { HttpTarget } from './http-target'

export type { HttpTarget, Init, OpenOptions, OpenTarget } from './http-target'

/** What `GET /api/...`, the page and the guards promise, on every target. */
export function httpContract (t: Test, target: HttpTarget): void {
  t.test(`${target.name}: the routes`, t => routes(t, target))
  t.test(`${target.name}: settling`, t => settling(t, target))
  t.test(`${target.name}: bad requests`, t => badRequests(t, target))
  t.test(`${target.name}: the guards`, t => guards(t, target))
}
