import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Desk } from '../lib/desk'
import { ReadyroomError } from '../lib/errors'
import { checkStream } from '../lib/lifecycle'
import { createMcpHttp } from '../lib/mcp-http'
import { parse } from '../lib/validate'
import { StreamSchema } from '../schemas/ticket'

/** How long open calls get to answer when the application closes, in milliseconds. */
const DRAIN_MS = 1_000

export interface McpOptions {
  version: string
  /** The longest wait, in milliseconds. Unset means that of the contract. */
  maxWaitMs?: number
  /** How often a wait reports progress, in milliseconds. Unset means every ten seconds. */
  progressMs?: number
}

declare module 'fastify' {
  interface FastifyInstance { desk: Desk }
}

/**
 * The stream that the address names, decoded by the router; undefined on the bare path.
 * @throws BAD_REQUEST. A slash is refused however it is written: some proxies decode `%2F`, others do not.
 */
function streamOf (request: FastifyRequest): string | undefined {
  const stream = (request.params as { '*'?: string })['*']
  if (stream === undefined || stream === '') return undefined
  if (stream.includes('/')) {
    throw new ReadyroomError('BAD_REQUEST',
      'The stream in the address may have no slash, nor %2F. Give such a stream as the stream argument of ask_human.')
  }
  return checkStream(parse(StreamSchema, stream, 'The stream in the address'))
}

/** The first bytes go out at once, so that a client knows that its wait has begun and no proxy thinks it dead. */
async function * events (body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array | string> {
  yield ': open\n\n'
  yield * body as unknown as AsyncIterable<Uint8Array>
}

/** MCP over Streamable HTTP, with the stream in the path or without. Host, Origin and credential are checked before. */
export default async function mcp (app: FastifyInstance, { version, maxWaitMs, progressMs }: McpOptions): Promise<void> {
  const answer = createMcpHttp({ desk: app.desk, version, maxWaitMs, progressMs, log: app.log })
  let open = 0
  let drained: (() => void) | undefined

  // The bytes as they came: what is no JSON is answered in JSON-RPC, by the one reader that every target has.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => body)

  // Before the server closes its connections: whoever waits is answered with the ticket as it stands.
  app.addHook('preClose', async () => {
    app.desk.close()
    if (open === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    drained = resolve
    const timer = setTimeout(resolve, DRAIN_MS)
    await promise
    clearTimeout(timer)
  })

  /** Counts a call until its response is out or its client gone; aborts in the second case. */
  function track ({ raw }: FastifyReply): AbortSignal {
    const gone = new AbortController()
    open++
    raw.once('close', () => {
      if (!raw.writableFinished) gone.abort()
      if (--open === 0) drained?.()
    })
    return gone.signal
  }

  async function post (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const stream = streamOf(request)
    const response = await answer({
      url: `http://localhost${request.url}`,
      header: name => request.headers[name]?.toString(),
      body: request.body as Buffer | undefined ?? new Uint8Array(),
      stream,
      signal: track(reply)
    })
    const type = response.headers.get('content-type') ?? ''
    if (type.startsWith('text/event-stream') && response.body !== null) {
      reply.code(response.status)
      response.headers.forEach((value, name) => { reply.header(name, value) })
      return reply.send(Readable.from(events(response.body)))
    }
    reply.code(response.status)
    if (response.body === null) return reply.send()
    return reply.type(type).send(await response.text())
  }

  function refuse (): never {
    throw new ReadyroomError('METHOD_NOT_ALLOWED', 'MCP is spoken with POST here: no stream is opened by GET, and there is no session to end.',
      { headers: { allow: 'POST' } })
  }

  for (const url of ['/', '/*']) {
    app.post(url, post)
    app.route({ method: ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'], url, handler: refuse })
  }
}
