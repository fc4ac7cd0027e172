import type { Config } from './config'
import { ServerElsewhere } from './elsewhere'
import type { Log } from './log'
import { written } from './output'
import { onShutdown, type ShutdownOptions } from './shutdown'
import { serveMcpStdio } from './stdio'
import { ownStream } from './stream'

/** How long a list of tools waits to hear what its caller may use, in milliseconds: clients give a server few seconds. */
const ASK_MS = 3_000

export interface RunElsewhereOptions {
  config: Config & { url: string }
  version: string
  log: Log
  cwd: string
  from?: ShutdownOptions['from']
}

/**
 * What `readyroom` does for an agent whose Ready Room is on another machine: it carries tool calls there. It becomes no
 * daemon, takes no lock and opens no folder.
 */
export function runElsewhere ({ config, version, log, cwd, from }: RunElsewhereOptions): void {
  const { url, agentToken, tools = agentToken === undefined ? 'decisions' : 'all' } = config
  // The name of a token beats the folder's: the server puts it where no stream is named.
  const stream = agentToken === undefined ? ownStream(config, cwd, log) : undefined
  const server = new ServerElsewhere({
    url,
    path: stream === undefined ? '/mcp' : `/mcp/${encodeURIComponent(stream)}`,
    token: agentToken ?? config.token,
    maxRoomWaitMs: config.edge.maxWaitS * 1_000
  })
  const agent = serveMcpStdio({
    desk: server,
    stream: stream ?? '',
    version,
    log,
    more: {
      tools,
      // Who is not known lists everything; each call is checked there, and says what is missing.
      offered: () => server.offered(ASK_MS).catch(() => undefined)
    }
  })
  const end = onShutdown({
    log,
    ...(from && { from }),
    close: async () => {
      await agent.close()
      await written(process.stdout)
    }
  })
  agent.ended.then(() => end('the agent has left'))
  log.info({ url }, 'Tool calls go to the Ready Room at this address')
}
