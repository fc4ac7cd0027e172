import fastJson from 'fast-json-stringify'
import type { FastifyRequest, FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import fp from 'fastify-plugin'
import type { TSchema } from 'typebox'
import { BODY_LIMIT, bodyText, judge, requireJson } from '../lib/bodies'
import { httpRefusal } from '../lib/http-refusals'
import { sentHeader } from './sent-header'

/** The same judge and the same sentences as the tools: no schema compiler of Fastify's own, no coercion, nothing stripped. */
const compiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => value => {
  try {
    return { value: judge(schema, value, httpPart) }
  } catch (err) {
    return { error: err as Error }
  }
}

/**
 * What Fastify does with the schema of a response, but when the first one is sent: there are hundreds of them, most are
 * refusals that nobody ever meets, and a start would wait for all.
 */
const serializer: FastifySerializerCompiler<TSchema> = ({ schema }) => {
  let write: ((value: unknown) => string) | undefined
  return value => (write ??= fastJson(schema as object))(value)
}

async function onlyJson (request: FastifyRequest): Promise<void> {
  // Where there is nothing, no body is looked at, whatever it calls itself.
  if (request.is404) throw httpRefusal('notFound')
  if (request.method === 'POST') requireJson(sentHeader(request, 'content-type'), sentHeader(request, 'content-encoding'))
}

/** What may be sent: one media type, one limit, one judge, whatever the host application has set for itself. */
export default fp(async function bodies (app) {
  app.setValidatorCompiler(compiler)
  app.setSerializerCompiler(serializer)
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (request, body, done) => {
    try {
      parseJson(request, bodyText(body), done)
    } catch (err) {
      done(err as Error)
    }
  })
  app.addHook('preParsing', onlyJson)
}, { name: 'readyroom-bodies', fastify: '5.x', dependencies: ['readyroom-errors'] })
