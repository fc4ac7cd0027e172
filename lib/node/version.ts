import { readFileSync } from 'node:fs'

// The bundle has it written in; there is no package.json beside it that could be trusted to be ours.
declare const READYROOM_VERSION: string | undefined

/** Ready Room's own version. */
export const VERSION: string = typeof READYROOM_VERSION === 'string'
  ? READYROOM_VERSION
  : (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version
