import {
  createMcpHandler, isLegacyRequest, ProtocolErrorCode, type Server, WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server'
import { createMcpServer, mendArguments, type McpServerOptions } from './mcp'

/** The headers that the protocol gives a meaning. Nothing else reaches the SDK: no credential, no stale session id. */
const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

export interface McpPost {
  url: string
  /** One header of the request, by its name in lower case. */
  header (name: string): string | undefined
  body: Uint8Array
  /** The stream that the address names. */
  stream?: string | undefined
  /** Aborts when the client is gone: what it waited for is let go. */
  signal: AbortSignal
}

export type McpHttpOptions = Omit<McpServerOptions, 'stream' | 'quiet'>

const utf8 = new TextDecoder('utf-8', { fatal: true })

const refusal = (code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 })

/** Undefined when it is not JSON: half a message, no message, broken UTF-8. */
function read (body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body))
  } catch { return undefined }
}

/** Only a wait takes so long that its response must stay alive on the way, and only a wait reports progress. */
function isWait (message: object): boolean {
  const { method, params } = message as { method?: unknown, params?: { name?: unknown } | null }
  return method === 'tools/call' && params?.name === 'wait_for_answer'
}

/**
 * Whether to answer with an event stream. A client that can read both gets one where time passes; one that names only
 * one kind gets that kind; one that names neither, or says nothing at all, gets JSON. The protocol has clients list both
 * and lets the server choose (2025-11-25, transports, "Sending Messages to the Server"); many clients list less.
 */
function wantsStream (accept: string, message: object): boolean {
  if (!/text\/event-stream/i.test(accept)) return false
  return isWait(message) || !/application\/(json|\*)|\*\/\*/i.test(accept)
}

/** The initialize-based era, answered with one JSON body: the SDK's own serving of that era knows event streams only. */
async function answerWithJson (request: Request, parsedBody: unknown, server: Server): Promise<Response> {
  const { signal } = request
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  let leave = (): void => {}
  const gone = new Promise<Response>(resolve => {
    leave = () => resolve(new Response(null, { status: 499 }))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([transport.handleRequest(request, { parsedBody }), gone])
  } finally {
    signal.removeEventListener('abort', leave)
    await server.close()
  }
}

/**
 * Answers one POST of Streamable HTTP, in either era. Nothing is kept between two of them: each has a server of its own,
 * so any request may come to any process, and a restart is not noticed. Who may call is decided before.
 */
export function createMcpHttp (options: McpHttpOptions): (post: McpPost) => Promise<Response> {
  const onerror = (err: Error): void => { options.log?.debug?.({ err }, 'MCP over HTTP') }

  return async function answer ({ url, header, body, stream, signal }) {
    const message = read(body)
    if (message === undefined) return refusal(ProtocolErrorCode.ParseError, 'The body is not JSON: send one whole JSON-RPC message, in UTF-8.')
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      return refusal(ProtocolErrorCode.InvalidRequest, 'Send one JSON-RPC message a POST, as an object. Batches are not part of the protocol since 2025-06-18.')
    }
    mendArguments(message)
    const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' })
    for (const name of PROTOCOL_HEADERS) {
      const value = header(name)
      if (value !== undefined) headers.set(name, value)
    }
    const request = new Request(url, { method: 'POST', headers, signal })
    const streaming = wantsStream(header('accept') ?? '', message)
    const make = (): Server => createMcpServer({ ...options, stream, quiet: !streaming })
    if (!streaming && await isLegacyRequest(request, message)) return answerWithJson(request, message, make())
    return createMcpHandler(make, { responseMode: streaming ? 'sse' : 'auto', onerror }).fetch(request, { parsedBody: message })
  }
}
