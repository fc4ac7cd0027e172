import fc from 'fast-check'
import type { Asked } from './queue'

// What goes into the commands: within what `readAsk` lets through, and often on an edge of it.

const SECOND = 1_000
const EDGES = [5 * 60 * SECOND, 1_800 * SECOND, 86_400 * SECOND].flatMap(ms => [ms - 1, ms, ms + 1])

/** Milliseconds by which a clock moves: on, mostly; to the edge of a window; back, now and then by days. */
export const jumps: fc.Arbitrary<number> = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 5_000 }) },
  { weight: 4, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 1, arbitrary: fc.constantFrom(...EDGES).map(ms => -ms) },
  { weight: 2, arbitrary: fc.integer({ min: -200_000_000, max: 200_000_000 }) }
)

/** Text that says something; of any script, with what breaks lines and JSON, and with half a pair. */
export const texts = (most: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.oneof(fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }), fc.constantFrom('"', '\\', '\n', '\u2028', '\ud800', '😀', '\0')), maxLength: most - 1 })
    .map(text => `a${text}`)

/** Contexts around the lengths at which lists cut them. */
const contexts: fc.Arbitrary<string> = fc.record({
  length: fc.constantFrom(0, 1, 999, 1_000, 1_001, 4_096, 4_097, 6_000), letter: fc.constantFrom('x', '😀', '\n')
}).map(({ length, letter }) => letter.repeat(length))

/** `streams` few enough that tickets share one. */
export const asked = (streams = 3): fc.Arbitrary<Asked> => fc.record({
  stream: fc.nat(streams - 1).map(n => `agent ${n}`),
  question: texts(40),
  options: fc.constantFrom(['yes', 'no'], ['a', 'b', 'c', 'd', 'e']),
  context: contexts,
  default_answer: texts(20),
  timeout_seconds: fc.oneof(fc.constantFrom(1, 1.0005, 300, 1_800, 86_400), fc.double({ min: 1, max: 86_400, noNaN: true })),
  urgency: fc.constantFrom('low', 'normal', 'blocking')
}, { requiredKeys: ['stream', 'question'] })

/** The member that a number stands for, one of the last; undefined where there is none, and for one number in sixteen. */
export const pick = <T>(from: readonly T[], which: number): T | undefined =>
  which % 16 === 15 ? undefined : from[Math.max(0, from.length - 1 - which % 7)]
