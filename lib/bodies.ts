import type { Static, TSchema } from 'typebox'
import { httpRefusal } from './http-refusals'
import { isTooDeep } from './nesting'
import { parse } from './validate'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** How long a body may be, in bytes. */
export const BODY_LIMIT = 1_048_576

/** The parts of a request, as a refusal names them. */
const PARTS: Record<string, string> = { body: 'the body', querystring: 'the query', params: 'the address', headers: 'the headers' }

// Plain digits only: `0x10`, `1e2` and the empty text are no way to write a number here.
const DIGITS = /^-?\d{1,15}$/
const DECIMAL = /^-?\d{1,15}(?:\.\d{1,6})?$/

interface Described { type?: string, items?: Described }

/** One text of a query as its schema wants it. A list is one text with commas, or the same name several times. */
function read ({ type, items = {} }: Described, value: unknown): unknown {
  if (type === 'array') {
    const texts = Array.isArray(value) ? value as unknown[] : typeof value === 'string' ? value.split(',') : undefined
    return texts?.map(text => read(items, text)) ?? value
  }
  if (typeof value !== 'string') return value
  if (type === 'integer' && DIGITS.test(value)) return Number(value)
  if (type === 'number' && DECIMAL.test(value)) return Number(value)
  return value
}

/** A query or an address is text; where its schema wants numbers or a list, it is read as such. Bodies are never converted. */
function fromText (schema: TSchema, value: unknown): unknown {
  const { properties = {} } = schema as { properties?: Record<string, Described> }
  const texts = Object.entries((value ?? {}) as Record<string, unknown>)
  return Object.fromEntries(texts.map(([name, text]) => [name, Object.hasOwn(properties, name) ? read(properties[name]!, text) : text]))
}

/**
 * One part of a request, judged by its schema, with the sentences of the tools: nothing is coerced, nothing stripped.
 * @throws BAD_REQUEST
 */
export function judge<const S extends TSchema> (schema: S, value: unknown, part = 'body'): Static<S> {
  return parse(schema, part === 'body' ? value : fromText(schema, value), PARTS[part] ?? part)
}

/**
 * Only JSON, and only as it is: what a form or a plain text could send needs no preflight, and would come from any page.
 * @throws UNSUPPORTED_MEDIA_TYPE
 */
export function requireJson (contentType: string | null | undefined, contentEncoding: string | null | undefined): void {
  if (contentType?.split(';', 1)[0]!.trim().toLowerCase() !== 'application/json') throw httpRefusal('notJson')
  if ((contentEncoding ?? 'identity').trim().toLowerCase() !== 'identity') throw httpRefusal('encoded')
}

/**
 * A body as text. One in another encoding is refused: read leniently, a person's answer would reach the agent with letters replaced.
 * @throws BAD_REQUEST
 */
export function bodyText (bytes: Uint8Array): string {
  if (isTooDeep(bytes)) throw httpRefusal('tooDeep')
  try {
    return utf8.decode(bytes)
  } catch (err) {
    throw httpRefusal('notUtf8', err)
  }
}
