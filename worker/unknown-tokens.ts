import { WRONG_ADDRESSES } from '../lib/credential'
import { hashOf, isTokenShaped } from '../lib/room/token-book'

/**
 * Tokens of the right form that the queue did not know, by their hashes: sent again, they wake nothing. One that is
 * unknown stays so, for nobody can make a token of that text any more.
 */
export class UnknownTokens {
  readonly #hashes = new Set<string>()

  /** Whether only the queue can say what this is. */
  isWorthAsking (bearer: string | undefined): boolean {
    return bearer !== undefined && isTokenShaped(bearer) && !this.#hashes.has(hashOf(bearer))
  }

  note (bearer: string | undefined): void {
    if (bearer === undefined) return
    this.#hashes.add(hashOf(bearer))
    if (this.#hashes.size > WRONG_ADDRESSES) this.#hashes.delete(this.#hashes.values().next().value!)
  }
}
