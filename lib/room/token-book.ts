import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { ROLE_SCOPES, type Principal, type Scope } from '../principal'
import type { KnownToken } from './commands/tokens'

const PREFIX = 'rr_'
const BYTES = 32

/** A new token: `rr_` and 32 random bytes, base64url. Shown once, and kept nowhere. */
export function newToken (): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES))
  return PREFIX + btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Whether a text has the form of a token: what has not need not be looked up anywhere. */
export const isTokenShaped = (text: string): boolean => /^rr_[\w-]{43}$/.test(text)

/** SHA-256 of a token, hex. Enough for a secret of 256 random bits: there is nothing to guess slowly. */
export const hashOf = (token: string): string => bytesToHex(sha256(utf8ToBytes(token)))

function principalOf (token: KnownToken): Principal {
  const scopes: Scope[] = [...ROLE_SCOPES[token.role]]
  if (token.role === 'admin' && token.all_rooms) scopes.push('server:admin')
  return {
    kind: token.role,
    name: token.agent,
    scopes,
    rooms: token.all_rooms ? 'all' : [token.home, ...token.rooms],
    home: token.home,
    token: token.id
  }
}

/** The tokens that are alive, in memory: every request of the door asks here, and a revocation counts from the next instruction on. */
export class TokenBook {
  readonly #byHash = new Map<string, KnownToken>()
  readonly #byId = new Map<number, KnownToken>()
  readonly #used = new Map<number, string>()
  readonly #listeners = new Set<(ids: readonly number[]) => void>()
  /** Whether nobody is let in without a credential. */
  initialised = false

  load ({ initialised, tokens }: { initialised: boolean, tokens: readonly KnownToken[] }): void {
    this.initialised = initialised
    for (const token of tokens) this.add(token)
  }

  add (token: KnownToken): void {
    this.#byHash.set(token.hash, token)
    this.#byId.set(token.id, token)
  }

  /** Ends tokens, and whatever their holders have open. */
  revoke (ids: readonly number[]): void {
    for (const id of ids) {
      const token = this.#byId.get(id)
      if (token === undefined) continue
      this.#byId.delete(id)
      this.#byHash.delete(token.hash)
    }
    for (const listener of this.#listeners) listener(ids)
  }

  /** Hears which tokens were revoked. Returns how to stop listening. */
  onRevoked (listener: (ids: readonly number[]) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Who holds a token, or undefined. The time it takes tells of its hash at most, which helps nobody to make one. */
  find (token: string, now: number): Principal | undefined {
    if (!token.startsWith(PREFIX)) return undefined
    const known = this.#byHash.get(hashOf(token))
    if (known === undefined || isOver(known, now)) return undefined
    this.#used.set(known.id, new Date(now).toISOString())
    return principalOf(known)
  }

  /** Whether a principal is one still: its token may have been revoked, or its time be over, since it was let in. */
  isLive ({ token }: Principal, now: number): boolean {
    if (token === undefined) return true
    const known = this.#byId.get(token)
    return known !== undefined && !isOver(known, now)
  }

  /** Whether a live token bears this name, folded. */
  hasName (name: string): boolean {
    for (const { agent } of this.#byId.values()) if (agent === name) return true
    return false
  }

  /** Which tokens were used since this was last asked, and when: those of which nothing was said for so long, in milliseconds. */
  takeUses (everyMs = 0): Array<[number, string]> {
    const uses = [...this.#used].filter(([id, at]) => {
      const before = this.#byId.get(id)?.last_used_at
      return before === undefined || Date.parse(at) - Date.parse(before) >= everyMs
    })
    this.#used.clear()
    for (const [id, at] of uses) Object.assign(this.#byId.get(id) ?? {}, { last_used_at: at })
    return uses
  }
}

const isOver = ({ expires_at: end }: KnownToken, now: number): boolean => end !== undefined && now >= Date.parse(end)
