import {
  ProtocolError, ProtocolErrorCode, Server, type JSONRPCRequest, type ListToolsResult, type Result, type ServerContext
} from '@modelcontextprotocol/server'
import type { AgentDesk } from './desk'
import { toReadyroomError } from './errors'
import type { Scope } from './principal'
import type { RoomTool } from './room/tools'
import { callTool, INSTRUCTIONS, ROOM_INSTRUCTIONS, resultOf, TOOLS, type Tool, type ToolContext, type ToolResult } from './tools'

/** How long a client may keep what tools/list and server/discover say, in milliseconds: an upgrade is seen soon enough. */
const CACHE_HINT = { ttlMs: 5 * 60_000, cacheScope: 'private' } as const

/** Gets what an agent is not told: the text of an error that nobody foresaw. */
export interface McpLog {
  error (fields: object, message: string): void
  debug? (fields: object, message: string): void
}

/** Which tools an agent is offered: those of the tickets, those of the room, or both. */
export type ToolSet = 'decisions' | 'room' | 'all'

/** The room's tools, for one caller. */
export interface RoomDoor {
  tools: readonly RoomTool[]
  /** The structured result. @throws ReadyroomError for every refusal */
  call (name: string, args: unknown, signal: AbortSignal): Promise<object>
}

/** A Ready Room that is another one: it runs the tools, and what it says is passed on as it is. */
export interface Elsewhere {
  /** What it may have beside the tickets. */
  roomTools: readonly RoomTool[]
  /** @throws ReadyroomError for what is no result */
  run (name: string, args: unknown, context: Omit<ToolContext, 'desk'>): Promise<ToolResult>
}

export interface McpServerOptions {
  /** Where calls go: the tickets, or, for every tool that is listed, a Ready Room elsewhere. */
  desk: AgentDesk | Elsewhere
  /** What the caller may do; left out, everything. */
  scopes?: readonly Scope[] | undefined
  /** Left out, the tools of the tickets. */
  tools?: ToolSet | undefined
  /** Left out, there is no room. */
  room?: RoomDoor | undefined
  /** Asks what of it the caller may use, where that is not known from the start; undefined where nobody says so in time. */
  offered?: (() => Promise<{ scopes: readonly string[], room_tools: readonly string[] } | undefined>) | undefined
  /** The stream of this connection, where it has one. */
  stream?: string | undefined
  /** Of the one call that is served, where it may be sent again. */
  key?: string | undefined
  version: string
  /** The longest wait this target can hold, in milliseconds. */
  maxWaitMs?: number | undefined
  /** How often a wait reports progress, in milliseconds. */
  progressMs?: number | undefined
  /** True where a response is one JSON body and has no room for progress. */
  quiet?: boolean
  /** Ends open waits early, each with its ticket as it stands. */
  closing?: AbortSignal | undefined
  log?: McpLog | undefined
}

type Listed = Pick<Tool | RoomTool, 'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations'>
type ListedTool = ListToolsResult['tools'][number]

// As plain JSON, made once: the schemas' own hidden keys stay here, and every tools/list is the same in the same order.
const asListed = ({ name, title, description, inputSchema, outputSchema, annotations }: Listed): ListedTool =>
  JSON.parse(JSON.stringify({ name, title, description, inputSchema, outputSchema, annotations: { title, ...annotations } }))

const LISTED = new Map<string, ListedTool>(TOOLS.map(tool => [tool.name, asListed(tool)]))
const ROOM_LISTED = new Map<string, ListedTool>()

function roomListed (tool: RoomTool): ListedTool {
  const listed = ROOM_LISTED.get(tool.name) ?? asListed(tool)
  ROOM_LISTED.set(tool.name, listed)
  return listed
}

/** Progress of one call, for a client that sent a token. A notification that cannot be delivered is nobody's loss. */
function progressOf ({ mcpReq }: ServerContext): ToolContext['progress'] {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  return (progress, message) => {
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {})
  }
}

/** Some clients send `arguments: null` for none, which the protocol's schema does not know. Changes `message` itself. */
export function mendArguments (message: object): void {
  const { params } = message as { params?: { arguments?: unknown } | null }
  if (params?.arguments === null) delete params.arguments
}

/** What the SDK's schemas found wrong, as it throws it: a JSON text of issues. Undefined where an error is another one. */
function issuesOf (err: unknown): string | undefined {
  if (!(err instanceof Error) || err instanceof ProtocolError || !err.message.startsWith('[')) return undefined
  try {
    const issues = JSON.parse(err.message) as Array<{ path: unknown[], message: string }>
    return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
  } catch { return undefined }
}

/** The SDK takes parameters that its schemas refuse for an error of ours (-32603). They are the caller's: -32602. */
class ToolServer extends Server {
  protected override _wrapHandler (method: string, handler: (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>) {
    return super._wrapHandler(method, async (request, ctx) => {
      try {
        return await handler(request, ctx)
      } catch (err) {
        const issues = issuesOf(err)
        if (issues === undefined) throw err
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The parameters of ${method} are not valid: ${issues}`)
      }
    })
  }
}

/**
 * The four tools as an MCP server, for one connection or one HTTP exchange, in whichever era its transport speaks.
 *
 * It is the SDK's low-level server, because a refusal here is our own sentence in a failed result, and the SDK's tool
 * registry would put its own words before it. An unknown tool is the protocol's error (-32602, "Unknown tool").
 */
export function createMcpServer (options: McpServerOptions): Server {
  const { log, stream, key, version, desk, scopes, tools: set = 'decisions', room, maxWaitMs, progressMs, quiet = false, closing, offered } = options
  const ticketTools = set === 'room' ? [] : TOOLS.filter(({ scope }) => scopes?.includes(scope) ?? true)
  const roomTools = set === 'decisions' ? [] : ('run' in desk ? desk.roomTools : room?.tools) ?? []
  const server = new ToolServer({ name: 'readyroom', title: 'Ready Room', version }, {
    capabilities: { tools: {} },
    instructions: roomTools.length > 0 ? `${INSTRUCTIONS} ${ROOM_INSTRUCTIONS}` : INSTRUCTIONS,
    cacheHints: { 'tools/list': CACHE_HINT, 'server/discover': CACHE_HINT }
  })

  server.setRequestHandler('tools/list', async () => {
    const own = await offered?.()
    const mine = own === undefined ? ticketTools : ticketTools.filter(({ scope }) => own.scopes.includes(scope))
    const rooms = own === undefined ? roomTools : roomTools.filter(({ name }) => own.room_tools.includes(name))
    return { tools: [...mine.map(({ name }) => LISTED.get(name)!), ...rooms.map(roomListed)] }
  })

  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const tool = ticketTools.find(({ name }) => name === params.name)
    const roomTool = roomTools.find(({ name }) => name === params.name)
    if (tool === undefined && roomTool === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams,
        `Unknown tool: ${params.name.slice(0, 100)}. This server has ${[...ticketTools, ...roomTools].map(({ name }) => name).join(', ')}.`)
    }
    const signal = closing === undefined ? ctx.mcpReq.signal : AbortSignal.any([ctx.mcpReq.signal, closing])
    const context = { stream, key, maxWaitMs, progressMs, signal, progress: quiet ? undefined : progressOf(ctx) }
    try {
      return { ...await run(params.name, params.arguments, tool, context) }
    } catch (err) {
      const { code, message, cause } = toReadyroomError(err)
      log?.error({ err: cause ?? err, code, tool: params.name }, 'A tool call failed')
      throw new ProtocolError(ProtocolErrorCode.InternalError, message)
    }
  })

  function run (name: string, args: unknown, tool: Tool | undefined, context: Omit<ToolContext, 'desk'>): Promise<ToolResult> {
    if ('run' in desk) return desk.run(name, args, context)
    return tool === undefined ? resultOf(() => room!.call(name, args, context.signal!)) : callTool(tool, args, { ...context, desk })
  }

  return server
}
