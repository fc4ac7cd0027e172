import gt from 'semver/functions/gt.js'
import valid from 'semver/functions/valid.js'
import { PROTOCOL } from './daemon-file'

/** What decides which of two processes should be the daemon. */
export interface Release { version: string, protocol: number }

/** Whether `a` is newer than `b`: the protocol decides, then the version (semver). */
export function isNewer (a: Release, b: Release): boolean {
  if (a.protocol !== b.protocol) return a.protocol > b.protocol
  return valid(a.version) !== null && valid(b.version) !== null && gt(a.version, b.version)
}

export const releaseOf = (version: string): Release => ({ version, protocol: PROTOCOL })
