import type { FastifyRequest, FastifySchemaCompiler } from 'fastify'
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

async function onlyJson (request: FastifyRequest): Promise<void> {
  // Where there is nothing, no body is looked at, whatever it calls itself.
  if (request.is404) throw httpRefusal('notFound')
  if (request.method === 'POST') requireJson(sentHeader(request, 'content-type'), sentHeader(request, 'content-encoding'))
}

/** What may be sent: one media type, one limit, one judge, whatever the host application has set for itself. */
export default fp(async function bodies (app) {
  app.setValidatorCompiler(compiler)
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
