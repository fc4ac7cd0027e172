import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ERRORS, ReadyroomError, toHttp, toReadyroomError, type ErrorCode } from '../lib/errors'
import { HTTP_REFUSALS, httpRefusal } from '../lib/http-refusals'
import { ErrorBodySchema } from '../schemas/error'

/** What every route declares beside its own answer. */
export const REFUSALS = { '4xx': ErrorBodySchema, '5xx': ErrorBodySchema } as const

// Fastify's own failures, by its code. Its texts name its inner parts, so ours stand in for them.
const KNOWN: Record<string, readonly [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: HTTP_REFUSALS.tooLarge,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: HTTP_REFUSALS.notJson,
  FST_ERR_CTP_EMPTY_JSON_BODY: HTTP_REFUSALS.emptyBody,
  FST_ERR_CTP_INVALID_JSON_BODY: HTTP_REFUSALS.unreadableBody,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: HTTP_REFUSALS.cutShort,
  FST_ERR_BAD_URL: HTTP_REFUSALS.unreadableAddress,
  FST_ERR_MAX_PARAM_LENGTH: ['BAD_REQUEST', 'A part of the address is too long.'],
  FST_ERR_NOT_FOUND: HTTP_REFUSALS.notFound
}

// What others threw with a status of their own: the page's file server, a host's login or rate limit.
const BY_STATUS: Record<number, readonly [ErrorCode, string]> = {
  400: ['BAD_REQUEST', 'This cannot be read.'],
  401: ['UNAUTHORIZED', 'The application around this Ready Room asks for a credential of its own.'],
  403: ['FORBIDDEN_SCOPE', 'The application around this Ready Room does not let this through.'],
  404: HTTP_REFUSALS.notFound,
  412: ['BAD_REQUEST', 'What is here is not what the conditions of the request ask for.'],
  413: HTTP_REFUSALS.tooLarge,
  415: HTTP_REFUSALS.notJson,
  429: ['TOO_MANY_REQUESTS', 'Too much was asked in a short time; ask again later.']
}

/** Any failure as one of the table's. What nobody named is INTERNAL, with its own text as the cause only. */
export function fromFastify (err: unknown): ReadyroomError {
  if (err instanceof ReadyroomError) return err
  const { code, statusCode } = (err ?? {}) as Partial<FastifyError>
  const known = (typeof code === 'string' && Object.hasOwn(KNOWN, code) ? KNOWN[code] : undefined) ?? BY_STATUS[statusCode ?? 0]
  return known === undefined ? toReadyroomError(err) : new ReadyroomError(known[0], known[1], { cause: err })
}

function note (log: FastifyBaseLogger, request: FastifyRequest, err: ReadyroomError): void {
  // The route as it was declared and not the address as it came: a query may carry what no log should hold.
  const where = { method: request.method, route: request.routeOptions.url }
  if (err.code === 'INTERNAL') log.error({ ...where, err: err.cause ?? err }, 'A request failed for a reason that nobody foresaw')
  else if (ERRORS[err.code].status >= 500) log.warn({ ...where, err }, err.message)
  // A refusal names what it refuses, and somebody may have put a token there: its sentence is for whoever sent it.
  else log.debug({ ...where, code: err.code }, 'A request was refused')
}

/** Answers with a failure, in the one shape that every route and every client knows. */
export function sendError (err: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = fromFastify(err)
  note(request.log, request, error)
  const { status, headers, body } = toHttp(error)
  return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body)
}

export interface ErrorsOptions {
  /** Whether what no route matches is ours to answer. A host that shares its root with us keeps its own answer. */
  ownsNotFound?: boolean
}

/** One table, one shape, one place that reads it. */
export default fp<ErrorsOptions>(async function errors (app, { ownsNotFound = false }) {
  app.setErrorHandler(sendError)
  if (ownsNotFound) {
    app.setNotFoundHandler(async () => { throw httpRefusal('notFound') })
  }
}, { name: 'readyroom-errors', fastify: '5.x' })
