import type { Readable, Writable } from 'node:stream'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createMcpServer, type McpServerOptions } from '../mcp'
import type { Log } from './log'
import { StdioWire } from './stdio-wire'

/** How long calls in flight get to answer when stdin has ended, in milliseconds: clients kill what lingers. */
const DRAIN_MS = 500

export interface McpStdioOptions {
  /** May still be on its way: what it promises stays pending, while initialize and tools/list are answered at once. */
  desk: McpServerOptions['desk']
  stream: string
  version: string
  log: Log
  stdin?: Readable
  stdout?: Writable
  /** What is offered beside the tickets; left out, nothing. */
  more?: Pick<McpServerOptions, 'tools' | 'room' | 'offered'> | undefined
  /** How often a wait reports progress, in milliseconds. Unset means every ten seconds. */
  progressMs?: number
}

export interface McpStdio {
  /** Resolves when the agent has left: stdin has ended or closed, or nobody reads stdout. Never rejects. */
  readonly ended: Promise<void>
  /** Whether any MCP message was received. */
  readonly spoken: boolean
  /** Ends it from this side. Open waits are answered first with their tickets as they stand. Idempotent. */
  close (): Promise<void>
}

/**
 * MCP over the pipes of this process, in the era that the client opens with. Nothing but messages is written to stdout;
 * everything else is said through `log`.
 */
export function serveMcpStdio (options: McpStdioOptions): McpStdio {
  const { desk, stream, version, log, stdin = process.stdin, stdout = process.stdout, progressMs, more } = options
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const closing = new AbortController()
  const wire = new StdioWire({ stdin, stdout, log, drainMs: DRAIN_MS, onEnd: () => closing.abort() })

  serveStdio(() => createMcpServer({ desk, stream, version, log, progressMs, closing: closing.signal, ...more }), {
    transport: wire,
    onerror: err => { log.warn({ err }, 'A message over standard input could not be served') }
  })
  // The SDK has set its own by now, which ends whatever is being served.
  const { onclose } = wire
  wire.onclose = () => {
    onclose?.()
    end()
  }

  return {
    ended,
    get spoken () { return wire.spoken },
    close: () => {
      wire.end()
      return ended
    }
  }
}
