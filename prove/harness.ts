/** How much of a run is made: the short form is part of the tests, the long one is what `npm run prove` publishes. */
export type Form = 'short' | 'long'

export interface ProofOptions {
  form: Form
  /** Whatever is random in a run comes from this number, so that a run which found something can be made again. */
  seed: number
  /** A line of progress, for whoever watches a long run. */
  say: (line: string) => void
}

export interface Proof {
  /** Figures, in the order in which they are shown: what was done, what it took. */
  figures: Array<readonly [name: string, value: string]>
  /** Each promise that was broken, in a sentence with the ids needed to look it up. Empty is what is hoped for. */
  broken: string[]
}

/** One attempt to break a promise of the product, from outside, against the built `dist/`. */
export type Run = (options: ProofOptions) => Promise<Proof>

/** Numbers in 0..1 (1 excluded) that follow from the seed alone (mulberry32). */
export function random (seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number in low..high, both included. */
export const between = (next: () => number, low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
