import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ReadyroomError } from '../lib/errors'
import { checkStream } from '../lib/lifecycle'
import { createMcpHttp } from '../lib/mcp-http'
import { parse } from '../lib/validate'
import { StreamSchema } from '../schemas/ticket'
import { BODY_LIMIT } from './bodies'

export interface McpOptions {
  version: string
  /** The longest wait, in milliseconds. Unset means that of the contract. */
  maxWaitMs?: number | undefined
  /** How often a wait reports progress, in milliseconds. Unset means every ten seconds. */
  progressMs?: number | undefined
}

const segments = (path: string): number => path.split('?', 1)[0]!.split('/').length

/**
 * The stream that the address names, decoded by the router; undefined on the bare path. It is one segment: a slash in a
 * stream is written as %2F.
 * @throws BAD_REQUEST when it is no stream. @throws NOT_FOUND when there is more than one segment.
 */
function streamOf (request: FastifyRequest): string | undefined {
  const stream = (request.params as { '*'?: string })['*']
  if (stream === undefined || stream === '') return undefined
  if (segments(request.url) > segments(request.routeOptions.url ?? '')) {
    throw new ReadyroomError('NOT_FOUND', 'There is nothing at this address. A slash in the name of a stream is written as %2F: /mcp/name%2Fpart.')
  }
  return checkStream(parse(StreamSchema, stream, 'The stream in the address'))
}

/** Aborts when the client is gone before its answer is out. */
function goneSignal ({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  raw.once('close', () => { if (!raw.writableFinished) gone.abort() })
  return gone.signal
}

/** The first bytes go out at once, so that a client knows that its wait has begun and no proxy thinks it dead. */
async function * events (body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array | string> {
  yield ': open\n\n'
  yield * body as unknown as AsyncIterable<Uint8Array>
}

/** MCP over Streamable HTTP, with the stream in the path or without. Host, Origin and credential are checked before. */
export default async function mcp (app: FastifyInstance, { version, maxWaitMs, progressMs }: McpOptions): Promise<void> {
  const answer = createMcpHttp({ desk: app.desk, version, maxWaitMs, progressMs, log: app.log })

  // The bytes as they came: what is no JSON is answered in JSON-RPC, by the one reader that every target has.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, async (_request: FastifyRequest, body: Buffer) => body)

  async function post (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { status, headers, body } = await answer({
      url: `http://localhost${request.url}`,
      header: name => request.headers[name]?.toString(),
      body: request.body as Buffer | undefined ?? new Uint8Array(),
      stream: streamOf(request),
      signal: goneSignal(reply)
    })
    reply.code(status).headers(headers)
    return reply.send(body instanceof ReadableStream ? Readable.from(events(body)) : body ?? undefined)
  }

  // Not `/:stream`: a router's limit on the length of a parameter counts the encoded text, and answers 404.
  app.post('/', post)
  app.post('/*', post)
}
