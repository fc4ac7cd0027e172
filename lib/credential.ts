import { ReadyroomError } from './errors'
import { OWNER, type Principal } from './principal'
import { bearerOf, constantTimeEqual } from './token'

/** How many wrong credentials one address may send in one window, in milliseconds. */
export const WRONG_LIMIT = 20
export const WRONG_WINDOW_MS = 5 * 60_000
/** How many addresses are remembered; the longest unseen is forgotten first. */
export const WRONG_ADDRESSES = 5_000

export function unauthorized (message: string): ReadyroomError {
  // Plain, without an error parameter or a metadata address: those would send clients into a login that does not exist.
  return new ReadyroomError('UNAUTHORIZED', message, { headers: { 'www-authenticate': 'Bearer realm="readyroom"' } })
}

/** `seconds` is how long until the window of that address is over. */
export function tooManyWrong (seconds: number): ReadyroomError {
  return new ReadyroomError('TOO_MANY_REQUESTS',
    `Too many wrong tokens came from this address. Check the token, and try again in ${seconds} seconds; the right one is admitted at once.`,
    { headers: { 'retry-after': String(seconds) } })
}

/**
 * Who asks, by the Authorization header. `noteWrong` is told of a wrong credential, and throws when there were too many;
 * nothing given is nothing guessed, so that a client without a token does not use up the limit.
 * @throws UNAUTHORIZED, and what `noteWrong` throws.
 */
export async function authenticate (
  authorization: string | null | undefined, token: string | undefined, noteWrong: () => unknown, find?: (token: string) => Principal | undefined
): Promise<Principal> {
  const given = bearerOf(authorization)
  if (given === undefined) throw unauthorized('A token is needed: send the header `Authorization: Bearer <token>`.')
  if (token !== undefined && await constantTimeEqual(given, token)) return OWNER
  const minted = find?.(given)
  if (minted !== undefined) return minted
  await noteWrong()
  throw unauthorized('This is not the token of this Ready Room.')
}
