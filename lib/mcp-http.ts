import {
  classifyInboundRequest, createMcpHandler, isJSONRPCErrorResponse, isJSONRPCRequest, isJSONRPCResultResponse, ProtocolErrorCode,
  SUPPORTED_PROTOCOL_VERSIONS, type JSONRPCMessage, type JSONRPCRequest, type Server, type Transport
} from '@modelcontextprotocol/server'
import { HTTP_REFUSALS } from './http-refusals'
import { isTooDeep } from './nesting'
import { createMcpServer, mendArguments, type McpServerOptions } from './mcp'

/** The headers that the protocol gives a meaning. Nothing else reaches the SDK: no credential, no stale session id. */
const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name']
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }

export interface McpPost {
  url: string
  /** One header of the request, by its name in lower case. */
  header (name: string): string | undefined
  body: Uint8Array
  /** The stream that the address names. */
  stream?: string | undefined
  /** What is particular to the caller, where callers differ. */
  caller?: Partial<Pick<McpServerOptions, 'desk' | 'scopes' | 'tools' | 'room' | 'key'>> | undefined
  /** Aborts when the client is gone: what it waited for is let go. */
  signal: AbortSignal
}

/** What to answer. A stream has the headers of one; a text is JSON. */
export interface McpReply { status: number, headers: Record<string, string>, body: string | ReadableStream<Uint8Array> | null }

export type McpHttpOptions = Omit<McpServerOptions, 'stream' | 'quiet'>

/** For the log of a proxy: nobody is there to read it. */
const GONE: McpReply = { status: 499, headers: {}, body: null }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

const json = (status: number, value: object): McpReply => ({ status, headers: JSON_TYPE, body: JSON.stringify(value) })
const refusal = (code: number, message: string): McpReply => json(400, { jsonrpc: '2.0', id: null, error: { code, message } })

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

/** Carries one message to a server and its answer back. What the server says in between has nowhere to go. */
class OneExchange implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #answer = Promise.withResolvers<JSONRPCMessage | undefined>()

  async start (): Promise<void> {}

  async send (message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#answer.resolve(message)
  }

  async close (): Promise<void> {
    this.#answer.resolve(undefined)
    this.onclose?.()
  }

  /** Undefined when it was closed before. */
  deliver (message: JSONRPCRequest): Promise<JSONRPCMessage | undefined> {
    this.onmessage?.(message)
    return this.#answer.promise
  }
}

/**
 * A request of the initialize-based era, answered with one JSON body. The SDK's own serving of that era knows event
 * streams only, which some clients cannot read, and which cost a short call more than all the rest of it.
 */
async function exchange (server: Server, message: JSONRPCRequest, signal: AbortSignal): Promise<McpReply> {
  const transport = new OneExchange()
  const leave = (): void => { transport.close().catch(() => {}) }
  await server.connect(transport)
  signal.addEventListener('abort', leave, { once: true })
  const answer = await transport.deliver(message)
  signal.removeEventListener('abort', leave)
  return answer === undefined ? GONE : json(200, answer)
}

/**
 * Answers one POST of Streamable HTTP, in either era. Nothing is kept between two of them: each has a server of its own,
 * so any request may come to any process, and a restart is not noticed. Who may call is decided before.
 */
export function createMcpHttp (options: McpHttpOptions): (post: McpPost) => Promise<McpReply> {
  const onerror = (err: Error): void => { options.log?.debug?.({ err }, 'MCP over HTTP') }

  return async function answer ({ url, header, body, stream, caller = {}, signal }) {
    if (isTooDeep(body)) return refusal(ProtocolErrorCode.InvalidRequest, HTTP_REFUSALS.tooDeep[1])
    const message = read(body)
    if (message === undefined) return refusal(ProtocolErrorCode.ParseError, 'The body is not JSON: send one whole JSON-RPC message, in UTF-8.')
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      return refusal(ProtocolErrorCode.InvalidRequest, 'Send one JSON-RPC message a POST, as an object. Batches are not part of the protocol since 2025-06-18.')
    }
    // Whoever listens from here on would wait for an abort that has been.
    if (signal.aborted) return GONE
    mendArguments(message)
    const streaming = wantsStream(header('accept') ?? '', message)
    const make = (): Server => createMcpServer({ ...options, ...caller, stream, quiet: !streaming })

    const [version, method, name] = PROTOCOL_HEADERS.map(header)
    const isOld = classifyInboundRequest({
      httpMethod: 'POST',
      body: message,
      ...(version !== undefined && { protocolVersionHeader: version }),
      ...(method !== undefined && { mcpMethodHeader: method }),
      ...(name !== undefined && { mcpNameHeader: name })
    }).kind === 'legacy'
    // A version that nobody knows is refused by the SDK, below, in its words.
    const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version)
    if (!streaming && isOld && isKnown && isJSONRPCRequest(message)) return exchange(make(), message, signal)

    const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' })
    for (const name of PROTOCOL_HEADERS) {
      const value = header(name)
      if (value !== undefined) headers.set(name, value)
    }
    const request = new Request(url, { method: 'POST', headers, signal })
    const response = await createMcpHandler(make, { responseMode: streaming ? 'sse' : 'auto', onerror }).fetch(request, { parsedBody: message })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return {
      status: response.status,
      headers: response.body === null ? {} : isStream ? Object.fromEntries(response.headers) : JSON_TYPE,
      body: isStream || response.body === null ? response.body : await response.text()
    }
  }
}

const OPEN = new TextEncoder().encode(': open\n\n')

/**
 * A stream of events whose first bytes go out at once, so that a client knows that its wait has begun and no proxy thinks it dead.
 * `onTaken` is called when whoever reads it has taken all of it.
 */
export function opened (body: ReadableStream<Uint8Array>, onTaken: () => void = () => {}): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    start (controller) { controller.enqueue(OPEN) },
    async pull (controller) {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      controller.close()
      onTaken()
    },
    cancel: reason => reader.cancel(reason)
  })
}
