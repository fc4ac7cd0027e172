import type { FastifyRequest, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import type { TSchema } from 'typebox'
import Value from 'typebox/value'
import { ReadyroomError } from '../lib/errors'
import { explain } from '../lib/validate'

/** How long a body may be, in bytes. */
export const BODY_LIMIT = 1_048_576

const NAMES: Record<string, string> = { body: 'the body', querystring: 'the query', params: 'the address', headers: 'the headers' }

// Plain digits only: `0x10`, `1e2` and the empty text are no way to write a number here.
const DIGITS = /^-?\d{1,15}$/

/** A query or an address is text; where its schema wants a whole number, digits are read as one. Bodies are never converted. */
function fromText (schema: TSchema, value: unknown): unknown {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  const texts = Object.entries((value ?? {}) as Record<string, unknown>)
  return Object.fromEntries(texts.map(([name, text]) => {
    const type = Object.hasOwn(properties, name) ? properties[name]!.type : undefined
    return [name, type === 'integer' && typeof text === 'string' && DIGITS.test(text) ? Number(text) : text]
  }))
}

/** The same judge and the same sentences as the tools: no schema compiler of Fastify's own, no coercion, nothing stripped. */
const compiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => value => {
  const read = httpPart === 'body' ? value : fromText(schema, value)
  if (Value.Check(schema, read)) return { value: read }
  return { error: new ReadyroomError('BAD_REQUEST', explain(schema, read, NAMES[httpPart] ?? httpPart)) }
}

/** Only JSON, and only as it is: what a form or a plain text could send needs no preflight, and would come from any page. */
async function requireJson (request: FastifyRequest): Promise<void> {
  if (request.method !== 'POST') return
  const type = request.headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new ReadyroomError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: send content-type: application/json.')
  }
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new ReadyroomError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed: send it without content-encoding.')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A text in another encoding is refused: read leniently, a person's answer would reach the agent with letters replaced. */
function textOf (body: Buffer): string {
  try {
    return utf8.decode(body)
  } catch (cause) {
    throw new ReadyroomError('BAD_REQUEST', 'The body is not UTF-8: send JSON in UTF-8 (RFC 8259, 8.1).', { cause })
  }
}

/** What may be sent: one media type, one limit, one judge, whatever the host application has set for itself. */
export default fp(async function bodies (app) {
  app.setValidatorCompiler(compiler)
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (request, body, done) => {
    try {
      parseJson(request, textOf(body), done)
    } catch (err) {
      done(err as ReadyroomError)
    }
  })
  app.addHook('preParsing', requireJson)
}, { name: 'readyroom-bodies', fastify: '5.x', dependencies: ['readyroom-errors'] })
