import { fromBody } from '../errors'
import { shown } from '../settings'
import type { RunAdmin } from './administer'
import { readAddress } from './clients/way'
import { ConfigError } from './config'
import { RefusedError } from './refused'

/** How long one thing may take, in milliseconds. */
const CALL_MS = 60_000

export interface Afar {
  /** Where the other Ready Room is, as somebody typed it. */
  url: string
  /** The owner's secret there, or a token that administers the server. It travels in a header and stands in no message. */
  token: string | undefined
}

/**
 * Leads to identity and rooms of a Ready Room elsewhere, a Worker above all, which has no machine to sit at.
 * @throws ConfigError for an address or a token that cannot be used. What it returns throws RefusedError, and what is refused there.
 */
export function administerFromAfar ({ url, token }: Afar): RunAdmin {
  const { base, plain, loopback } = addressOf(url)
  if (token === undefined) throw new ConfigError('Set READYROOM_TOKEN to the owner\'s secret of the Ready Room at --url: whoever has it mints the first token.', 2)
  if (plain && !loopback) throw new ConfigError(`--url must begin with https:// where it leads to another machine: over ${base} the secret could be read on the way.`, 2)
  return async (name, input) => {
    if (name === 'backup') throw new ConfigError('backup writes a file on the machine of the rooms, and does not go with --url: export a room instead.', 2)
    let response: Response
    let body: unknown
    try {
      response = await fetch(`${base}v1/admin/${name}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(input),
        // Wherever it led, the secret would go along.
        redirect: 'error',
        signal: AbortSignal.timeout(CALL_MS)
      })
      body = await response.json()
    } catch (err) {
      throw new RefusedError(`No Ready Room answered at ${base}. Check the address, and whether something in front of it asks for a login; ` +
        'if it was reached, `readyroom admin list` shows whether it was done.', { cause: err })
    }
    if (response.ok) return body as never
    const refusal = fromBody(body)
    // Off on a server with a machine of its own, it looks like any other address that is not there.
    if (refusal.code === 'NOT_FOUND') throw new RefusedError(`${base} does not let itself be administered from afar: set READYROOM_ADMIN_API=on there, or use the machine itself.`)
    throw refusal
  }
}

function addressOf (url: string): ReturnType<typeof readAddress> {
  try {
    return readAddress(url)
  } catch (err) {
    throw new ConfigError(`--url is ${shown(url)}: ${(err as Error).message}`, 2)
  }
}
