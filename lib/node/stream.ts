import { basename } from 'node:path'
import type { Log } from './log'

const MAX = 100

/**
 * The stream of tickets that name none themselves: what was set, else the name of the folder that the agent started us
 * in. A folder may be called what a stream may not; its name is then made to fit. Undefined where nothing is left of it.
 */
export function streamOf (given: string | undefined, cwd: string): string | undefined {
  if (given !== undefined) return given
  const name = basename(cwd).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  // Only what can be seen makes a name; a folder may consist of marks that leave no trace.
  if (!/[^\s\p{Cf}]/u.test(name)) return undefined
  return [...name].slice(0, MAX).join('').trim()
}

/** What a stream is called that has no name. */
export const UNNAMED = 'unnamed'

/** The stream of this process, with a word to the person where only a makeshift is left. */
export function ownStream ({ stream: given }: { stream?: string }, cwd: string, log: Log): string {
  const stream = streamOf(given, cwd)
  if (stream === undefined) {
    log.warn({ cwd }, `The working folder has no name to call the stream by; tickets that name none are from "${UNNAMED}". Set READYROOM_STREAM to another name`)
  }
  return stream ?? UNNAMED
}
