import { METHODS, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { BODY_LIMIT } from './lib/bodies'
import { toHttp, ReadyroomError } from './lib/errors'
import { HEADERS } from './lib/headers'
import { sendError } from './plugins/errors'
import readyroom, { type ServiceOptions } from './plugins/readyroom'

/** How long a request may take to arrive, in milliseconds: its headers, and all of it. */
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
const HEADER_BYTES = 16_384

export interface BuildOptions extends ServiceOptions {
  logger?: FastifyBaseLogger | undefined
}

/** What cannot even be read as HTTP: the answer is written by hand, in the same shape. */
function refuseUnreadable (err: NodeJS.ErrnoException, socket: Socket): void {
  if (err.code === 'ECONNRESET' || socket.destroyed) return
  const { status, body } = toHttp(unreadable(err.code))
  const text = JSON.stringify(body)
  const headers = { ...HEADERS, 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text), connection: 'close' }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (socket.writable) socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${text}`)
  socket.destroySoon()
}

function unreadable (code: string | undefined): ReadyroomError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': return new ReadyroomError('TOO_LARGE', `The headers may have at most ${HEADER_BYTES} bytes.`)
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW': return new ReadyroomError('TOO_LARGE', 'The chunk extensions of the body are too long.')
    case 'ERR_HTTP_REQUEST_TIMEOUT': return new ReadyroomError('BAD_REQUEST', 'The request took too long to arrive.')
    default: return new ReadyroomError('BAD_REQUEST', 'This is not HTTP/1.1 that can be read.')
  }
}

/**
 * An application that is Ready Room and nothing else. It does not listen. What it opened is closed again when it cannot
 * be built.
 */
export async function buildApp ({ logger, trustProxy = false, ...options }: BuildOptions): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(logger && { loggerInstance: logger }),
    // Addresses and queries stay out of the log; what goes wrong is logged by the error handler, without them.
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy,
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_MS,
    // Answers under way get their time before this, from plugins/closing.
    forceCloseConnections: true,
    return503OnClosing: false,
    // What is too long for an id is refused by its schema; nothing in an address can be longer than this.
    routerOptions: { maxParamLength: HEADER_BYTES },
    // A missing Host is the guard's to refuse, in our shape.
    http: { headersTimeout: HEADERS_MS, maxHeaderSize: HEADER_BYTES, requireHostHeader: false },
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: (err, request, reply) => { sendError(err, request, reply.headers(HEADERS)) }
  })
  // Whatever a client expects beside `100-continue` is passed over (RFC 9110, 10.1.1): Node would answer it by itself, in
  // no shape of ours and before any guard.
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  // Every method that Node can read, so that one nobody uses is 405 too; CONNECT never gets as far as a route.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  try {
    await app.register(readyroom, { ownsNotFound: true, trustProxy, ...options })
    await app.ready()
    return app
  } catch (err) {
    await app.close()
    throw err
  }
}
