import type { Static, TSchema } from 'typebox'
import Value from 'typebox/value'
import { ReadyroomError } from './errors'

const number = new Intl.NumberFormat('en-US')

/** What was got, in a few words: agents repair what they are shown, and a long text would drown the sentence. */
function got (value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'string') {
    const length = [...value].length
    return length > 40 ? `a text of ${number.format(length)} characters` : `the text ${JSON.stringify(value)}`
  }
  if (typeof value === 'object') return 'an object'
  return `the ${typeof value} ${String(value)}`
}

const kinds: Record<string, string> = {
  string: 'a text', number: 'a number', integer: 'a whole number', array: 'a list', object: 'an object', boolean: 'true or false'
}

interface Fault { keyword: string, instancePath: string, params: Record<string, unknown> }

/** The names along a JSON pointer (RFC 6901). */
const partsOf = (path: string): string[] =>
  path === '' ? [] : path.slice(1).split('/').map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** `/options/2` as a person says it: `options[2]`. */
const fieldOf = (path: string): string =>
  partsOf(path)
    .reduce((name, part) => /^\d+$/.test(part) && name !== '' ? `${name}[${part}]` : name === '' ? part : `${name}.${part}`, '')

const valueAt = (value: unknown, path: string): unknown =>
  partsOf(path).reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], value)

/** The rule that the value at `path` broke, as the second half of a sentence. */
function rule ({ keyword, params }: Fault, value: unknown): string {
  const limit = number.format(Number(params['limit']))
  const characters = limit === '1' ? 'character' : 'characters'
  switch (keyword) {
    case 'type': return `must be ${kinds[String(params['type'])] ?? params['type']}; got ${got(value)}`
    case 'minLength': return `must have at least ${limit} ${characters}; got ${got(value)}`
    case 'maxLength': return `may have at most ${limit} ${characters}; got ${number.format([...String(value)].length)}`
    case 'minItems': return `must have at least ${limit} entries; got ${got(value)}`
    case 'maxItems': return `may have at most ${limit} entries; got ${got(value)}`
    case 'minimum': return `must be at least ${limit}; got ${String(value)}`
    case 'maximum': return `may be at most ${limit}; got ${String(value)}`
    case 'enum': return `must be one of ${(params['allowedValues'] as unknown[]).map(v => JSON.stringify(v)).join(', ')}; got ${got(value)}`
    default: return `is not valid (${keyword}); got ${got(value)}`
  }
}

/** One sentence on what is wrong with `value`, naming the field, the limit and what was got. `what` names the whole. */
export function explain (schema: TSchema, value: unknown, what: string): string {
  const faults = Value.Errors(schema, value) as unknown as Fault[]
  // A missing or a surplus field says more than the type errors that follow from it.
  const fault = faults.find(f => f.keyword === 'additionalProperties') ?? faults.find(f => f.keyword === 'required') ?? faults[0]
  if (fault === undefined) return `${what} is not valid.`
  const inside = fieldOf(fault.instancePath)
  if (fault.keyword === 'required') {
    const missing = (fault.params['requiredProperties'] as string[]).map(name => inside === '' ? name : `${inside}.${name}`)
    return `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing from ${what}.`
  }
  if (fault.keyword === 'additionalProperties') {
    const surplus = (fault.params['additionalProperties'] as string[]).map(name => JSON.stringify(name))
    const known = Object.keys((schema as { properties?: object }).properties ?? {})
    const allowed = known.length === 0 ? 'none are known' : `known are ${known.join(', ')}`
    return `${what} has ${surplus.length === 1 ? 'an unknown field' : 'unknown fields'} ${surplus.join(', ')}; ${allowed}.`
  }
  return `${inside === '' ? what : inside} ${rule(fault, valueAt(value, fault.instancePath))}.`
}

/**
 * The value, known to be what `schema` says. `what` names it in the refusal ("The body", "The arguments").
 * @throws BAD_REQUEST with a sentence that names the field, the limit and what was got.
 */
export function parse<const S extends TSchema> (schema: S, value: unknown, what: string): Static<S> {
  if (!Value.Check(schema, value)) throw new ReadyroomError('BAD_REQUEST', explain(schema, value, what))
  return value as Static<S>
}
