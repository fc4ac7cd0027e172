import { callerOf } from '../contract/v1'
import { ask } from './http'

/** What the holder of a token sends to an address, and gets. */
export const reachable = (origin: string, token: string): ReturnType<typeof callerOf> =>
  callerOf({ origin, request: (path, init) => ask(origin, path, init) }, token)
