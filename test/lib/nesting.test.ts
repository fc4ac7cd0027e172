import t from 'tap'
import { isTooDeep, NESTING_LIMIT } from '../../lib/nesting'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

t.test('a hundred levels pass, and one more does not', async t => {
  for (const [open, close] of [['[', ']'], ['{"a":', '}']] as const) {
    t.equal(isTooDeep(bytes(open.repeat(NESTING_LIMIT) + close.repeat(NESTING_LIMIT))), false)
    t.equal(isTooDeep(bytes(open.repeat(NESTING_LIMIT + 1))), true)
  }
})

t.test('what follows each other is not nested, and brackets in a text are text', async t => {
  t.equal(isTooDeep(bytes(`[${'[],{},'.repeat(1_000)}1]`)), false)
  t.equal(isTooDeep(bytes(JSON.stringify({ a: '['.repeat(500), 'b\\': `\\"${'{'.repeat(500)}` }))), false)
  t.equal(isTooDeep(bytes(`"\\\\"${'['.repeat(101)}`)), true, 'a text that ends in a backslash has ended')
})
