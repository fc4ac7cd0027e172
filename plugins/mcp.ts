import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BODY_LIMIT } from '../lib/bodies'
import type { Doors } from '../lib/doors'
import { readKey } from '../lib/idempotency'
import { createMcpHttp, opened } from '../lib/mcp-http'
import { OWNER } from '../lib/principal'
import { streamOf } from '../lib/stream-path'
import { uploadLimit } from '../lib/room/http'
import { goneSignal } from './gone'

export interface McpOptions {
  version: string
  /** What each caller gets; left out, the tickets and no more. */
  doors?: Doors | undefined
  /** The longest wait, in milliseconds. Unset means that of the contract. */
  maxWaitMs?: number | undefined
  /** How often a wait reports progress, in milliseconds. Unset means every ten seconds. */
  progressMs?: number | undefined
}

/** What stands behind `/mcp/` in the address, as it came; undefined on the bare path. */
function tailOf ({ url, routeOptions }: FastifyRequest): string | undefined {
  const depth = (routeOptions.url ?? '').split('/').length - 1
  const tail = url.split('?', 1)[0]!.split('/').slice(depth).join('/')
  return routeOptions.url?.endsWith('/*') ? tail : undefined
}

/** MCP over Streamable HTTP, with the stream in the path or without. Host, Origin and credential are checked before. */
export default async function mcp (app: FastifyInstance, { version, doors, maxWaitMs, progressMs }: McpOptions): Promise<void> {
  const answer = createMcpHttp({ desk: app.desk, version, maxWaitMs, progressMs, log: app.log })

  // The bytes as they came: what is no JSON is answered in JSON-RPC, by the one reader that every target has.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit: Math.max(BODY_LIMIT, uploadLimit(doors?.rooms?.maxFileBytes ?? 0)) }, async (_request: FastifyRequest, body: Buffer) => body)

  async function post (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const named = streamOf(tailOf(request))
    const stream = named ?? (request.principal?.kind === 'owner' ? undefined : request.principal?.name)
    const principal = request.principal ?? OWNER
    const receipt = doors?.receiptFor(principal)
    // Not where it was cut off: what an agent has half of, it does not have.
    if (receipt !== undefined) reply.raw.once('finish', () => { receipt.written() })
    const { status, headers, body } = await answer({
      url: `http://localhost${request.url}`,
      header: name => request.headers[name]?.toString(),
      body: request.body as Buffer | undefined ?? new Uint8Array(),
      stream,
      caller: doors?.callerOf(principal, stream, { receipt, key: readKey(request.headers['idempotency-key']?.toString()) }),
      signal: goneSignal(reply)
    })
    reply.code(status).headers(headers)
    return reply.send(body instanceof ReadableStream ? Readable.from(opened(body) as unknown as AsyncIterable<Uint8Array>) : body ?? undefined)
  }

  // Not `/:stream`: a router's limit on the length of a parameter counts the encoded text, and answers 404.
  app.post('/', post)
  app.post('/*', post)
}
