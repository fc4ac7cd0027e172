import { authenticate } from './credential'
import { ReadyroomError } from './errors'
import { OWNER, type Principal } from './principal'
import type { TokenBook } from './room/token-book'

export interface IdentityOptions {
  /** The owner's. Unset, whoever reaches the port is the owner, until a token is minted. */
  token?: string | undefined
  /** Minted tokens, where there can be any. */
  tokens?: TokenBook | undefined
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined
}

const NO_AGENT_TOKEN = 'This Ready Room knows its agents by their tokens: set READYROOM_AGENT_TOKEN in the entry of this MCP server. ' +
  '`readyroom admin add-token` makes one, and `readyroom setup` writes it there.'
const WRONG_AGENT_TOKEN = 'READYROOM_AGENT_TOKEN is not a token of this Ready Room, or not one any more: ask for a new one.'

/** Who somebody is, by what they show. The one place that decides it, for whatever they come through. */
export class Identity {
  readonly #token: string | undefined
  readonly #tokens: TokenBook | undefined
  readonly #now: () => number

  constructor ({ token, tokens, now = Date.now }: IdentityOptions) {
    this.#token = token
    this.#tokens = tokens
    this.#now = now
  }

  /** Whether somebody without a credential is the owner. */
  get isOpen (): boolean { return this.#token === undefined && this.#tokens?.initialised !== true }

  /** Who sends a request. @throws UNAUTHORIZED, and what `noteWrong` throws, which hears of a wrong credential. */
  async ofRequest (authorization: string | null | undefined, noteWrong: () => unknown): Promise<Principal> {
    if (this.isOpen) return OWNER
    return authenticate(authorization, this.#token, noteWrong, token => this.#tokens?.find(token, this.#now()))
  }

  /** Whom a process of this machine speaks for, by the token that its agent gave it. @throws UNAUTHORIZED */
  ofAgent (agentToken: string | undefined): Principal {
    if (agentToken !== undefined) {
      const principal = this.#tokens?.find(agentToken, this.#now())
      if (principal === undefined) throw new ReadyroomError('UNAUTHORIZED', WRONG_AGENT_TOKEN)
      return principal
    }
    if (this.#tokens?.initialised === true) throw new ReadyroomError('UNAUTHORIZED', NO_AGENT_TOKEN)
    return OWNER
  }

  /** Whether a principal that was let in is one still. */
  isLive (principal: Principal): boolean {
    return this.#tokens?.isLive(principal, this.#now()) ?? true
  }

  /** Hears which tokens were revoked. Returns how to stop listening. */
  onRevoked (listener: (ids: readonly number[]) => void): () => void {
    return this.#tokens?.onRevoked(listener) ?? (() => {})
  }
}
