import { createHash } from 'node:crypto'
import t from 'tap'
import fc from 'fast-check'
import { bearerOf, constantTimeEqual } from '../../lib/token'

t.test('two secrets are equal when every character is', async t => {
  for (const text of ['', 'a', 'a-token', 'x'.repeat(100_000), '\u{1F600}', 'e\u0301', '\u0000']) t.equal(await constantTimeEqual(text, text), true)
  for (const [a, b] of [['', 'a'], ['a', 'A'], ['a', 'a '], ['token', 'tokeN'], ['token', 'token\u0000'], ['e\u0301', '\u00e9'], ['x'.repeat(100_000), `${'x'.repeat(99_999)}y`]]) {
    t.equal(await constantTimeEqual(a!, b!), false, JSON.stringify([a!.slice(0, 20), b!.slice(0, 20)]))
    t.equal(await constantTimeEqual(b!, a!), false)
  }
})

t.test('it says what === says, of any two texts', async t => {
  const same = fc.asyncProperty(fc.string(), fc.string(), async (a, b) =>
    await constantTimeEqual(a, b) === (a === b) && await constantTimeEqual(a, a))
  await t.resolves(fc.assert(same, { numRuns: 200 }))
})

t.test('digests are compared to the end: to begin, or to end, alike is not enough', async t => {
  const seen = new Map<string, string>()
  const alike: Array<[string, string]> = []
  for (let i = 0; i < 3_000; i++) {
    const digest = createHash('sha256').update(`token-${i}`).digest('hex')
    for (const part of [`start ${digest.slice(0, 4)}`, `middle ${digest.slice(30, 34)}`, `end ${digest.slice(-4)}`]) {
      const other = seen.get(part)
      if (other !== undefined) alike.push([other, `token-${i}`])
      seen.set(part, `token-${i}`)
    }
  }
  t.ok(alike.length > 30, `${alike.length} pairs share two bytes of their digests`)
  for (const [a, b] of alike) t.equal(await constantTimeEqual(a, b), false, `${a} ${b}`)
})

t.test('the token of a Bearer header is read, however its scheme is written', async t => {
  for (const header of ['Bearer abc', 'bearer abc', 'BEARER abc', 'Bearer   abc', 'Bearer abc  ']) t.equal(bearerOf(header), 'abc', header)
  t.equal(bearerOf('Bearer a.b-c_d~e+f/g=='), 'a.b-c_d~e+f/g==')
  t.equal(bearerOf('Bearer Bearer'), 'Bearer')
})

t.test('anything else holds no token', async t => {
  for (const header of [undefined, null, '', 'abc', 'Bearer', 'Bearer ', 'Bearer    ', 'Basic abc', 'Bearerabc', 'Bearer a b', ' Bearer abc', 'Bearer\tabc', 'Bearer abc, Bearer def', 'Bearer abc\nx']) {
    t.equal(bearerOf(header), undefined, JSON.stringify(header))
  }
})
