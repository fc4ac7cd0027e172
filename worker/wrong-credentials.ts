import { tooManyWrong, WRONG_ADDRESSES, WRONG_LIMIT, WRONG_WINDOW_MS } from '../lib/credential'

interface Window { count: number, endsAt: number }

/**
 * The network that an address counts as: IPv6 by its /64, which is what one guesser can use freely. What is no address
 * counts as itself.
 */
export function networkOf (address: string): string {
  if (!address.includes(':') || !URL.canParse(`http://[${address}]`)) return address
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const head = left === '' ? [] : left.split(':')
  const tail = right === undefined || right === '' ? [] : right.split(':')
  const zeros = right === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0')
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(':')}::/64`
}

/**
 * Counts wrong credentials by address, in the memory of one isolate: it slows the guessing of a token, and nothing else.
 * Only wrong ones are counted and only they are refused, so that nobody can lock the owner out.
 */
export class WrongCredentials {
  readonly #now: () => number
  readonly #windows = new Map<string, Window>()

  constructor (now: () => number = Date.now) {
    this.#now = now
  }

  /** @throws TOO_MANY_REQUESTS when this address has sent too many. */
  note (address: string): void {
    const key = networkOf(address)
    const now = this.#now()
    const known = this.#windows.get(key)
    const window = known === undefined || known.endsAt <= now ? { count: 0, endsAt: now + WRONG_WINDOW_MS } : known
    window.count++
    // Set anew, it is the youngest of the map; its first is the longest unseen.
    this.#windows.delete(key)
    this.#windows.set(key, window)
    if (this.#windows.size > WRONG_ADDRESSES) this.#windows.delete(this.#windows.keys().next().value!)
    if (window.count > WRONG_LIMIT) throw tooManyWrong(Math.ceil((window.endsAt - now) / 1_000))
  }
}
