import fc from 'fast-check'

// What stands where something else is expected. `@@DEEP@@` and the like are put in once the rest is text, because no
// value can say them.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '', ' ', '\0', '\ud800', 'id', 'Id', 'status', 'rev', 'a'.repeat(5_000)]

export const strange: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, -0, -1, 0.5, 2 ** 53, 1e308, -1e308, '', ' ', '\0', '\ud800', '\udc00\ud800', '\u202e', '\u2028', '\ufeff', [], {}, [[]], [null]),
  fc.constantFrom<Json>('@@DEEP@@', '@@DEEPOBJECT@@', '@@INFINITE@@', '@@PROTO@@', '@@TWICE@@'),
  fc.constantFrom('x'.repeat(101), '😀'.repeat(2_001), 'x'.repeat(16_385), '\u0001'.repeat(65_537), 'é'.repeat(70_000)),
  fc.constantFrom('NaN', '1e3', '0x10', '["yes","no"]', '["yes"', '[1,2]', '[["a"],["b"]]', 'true', 'null', '2026-01-31T09:30:00.000Z', '../../etc/passwd', '%00', "' OR 1=1 --"),
  fc.constant(Array.from({ length: 2_000 }, (_, i) => i)),
  fc.constantFrom(...NAMES).map(name => Object.defineProperty({}, name, { value: 1, enumerable: true }) as Json),
  fc.integer(), fc.double(), fc.string({ unit: 'binary', maxLength: 30 }), fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
)

/** A value with one or two places of it changed: left out, added, of another kind, under another name, a list around it. */
export function changed (value: Json): fc.Arbitrary<Json> {
  const change = fc.record({
    where: fc.nat(), how: fc.constantFrom('drop', 'replace', 'replace', 'add', 'rename', 'wrap', 'twice'), what: strange, name: fc.constantFrom(...NAMES)
  })
  return fc.array(change, { minLength: 1, maxLength: 2 }).map(changes => changes.reduce<Json>((json, { where, how, what, name }) => {
    const copy = structuredClone({ root: json }) as { root: Json }
    const places = placesOf(copy)
    const [holder, key] = places[where % places.length]!
    const parent = holder as Record<string, Json>
    const at = parent[key]!
    if (how === 'drop') delete parent[key]
    else if (how === 'replace') parent[key] = what
    else if (how === 'wrap') parent[key] = [at]
    else if (how === 'twice') parent[key] = [at, at]
    else if (typeof at === 'object' && at !== null) Object.defineProperty(at, name, { value: what, enumerable: true, configurable: true, writable: true })
    else { delete parent[key]; Object.defineProperty(parent, name, { value: at, enumerable: true, configurable: true, writable: true }) }
    return copy.root ?? null
  }, value))
}

function placesOf (holder: object): Array<[object, string]> {
  return Object.entries(holder).flatMap(([key, value]: [string, unknown]) => [
    [holder, key] as [object, string], ...(typeof value === 'object' && value !== null && !Array.isArray(value) ? placesOf(value) : [])
  ])
}

const DEPTH = 20_000
const SPELLED: Record<string, string> = {
  '"@@DEEP@@"': '['.repeat(DEPTH) + ']'.repeat(DEPTH),
  '"@@DEEPOBJECT@@"': '{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH),
  '"@@INFINITE@@"': '1e400',
  '"@@PROTO@@"': '{"__proto__":{"answered_by":"x"},"constructor":{"prototype":{}}}',
  '"@@TWICE@@"': '{"id":1,"id":"2"}'
}

/** As it goes over the wire. */
export function spell (value: Json): string {
  return JSON.stringify(value).replace(/"@@(?:DEEP|DEEPOBJECT|INFINITE|PROTO|TWICE)@@"/g, word => SPELLED[word]!)
}

/** A text as bytes, most often as it is, else broken on the way. */
export function sent (text: string): fc.Arbitrary<Buffer> {
  const bytes = Buffer.from(text)
  const broken = fc.record({
    how: fc.constantFrom('cut', 'byte', 'tail', 'bom', 'utf16', 'latin', 'empty', 'big', 'half letter', 'list', 'spaces'), where: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255)
  }).map(({ how, where, byte }) => {
    const at = Math.floor(where * bytes.length)
    switch (how) {
      case 'cut': return bytes.subarray(0, at)
      case 'byte': return Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + byte % 2)])
      case 'tail': return Buffer.concat([bytes, bytes])
      case 'bom': return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
      case 'utf16': return Buffer.from(text, 'utf16le')
      case 'latin': return Buffer.from(text, 'latin1')
      case 'empty': return Buffer.alloc(0)
      case 'big': return Buffer.concat([bytes, Buffer.alloc(byte < 20 ? 1_048_577 : 1_000, ' ')])
      case 'half letter': return Buffer.concat([bytes.subarray(0, at), Buffer.from([0xc3]), bytes.subarray(at)])
      case 'list': return Buffer.from(`[${Array(byte % 5 + 1).fill(text).join(',')}]`)
      default: return Buffer.from(`\r\n\t ${text} \n`)
    }
  })
  return fc.oneof({ weight: 10, arbitrary: fc.constant(bytes) }, { weight: 1, arbitrary: broken })
}
