import type { Log } from './log'
import type { Config } from './config'
import { Membership, type MembershipOptions } from './membership'
import { written } from './output'
import { STREAM_OF_TOKEN } from './patient-desk'
import { onShutdown, type ShutdownOptions } from './shutdown'
import { isAgentOn } from './stdin'
import { serveMcpStdio, type McpStdio } from './stdio'
import { ownStream } from './stream'

export interface RunOptions {
  config: Config
  version: string
  log: Log
  openDaemon: MembershipOptions['openDaemon']
  /** The working folder, where there is one. */
  cwd: string
  /** Called once this process has its place. `standsBy`: another process is the daemon. */
  onOpen: (place: { page: Pick<Config, 'bind' | 'port'>, standsBy: boolean, agent: boolean }) => void
  from?: ShutdownOptions['from']
}

/**
 * What `readyroom` and `readyroom serve` do: take a place among the processes of this machine, speak MCP where an agent
 * is on standard input, and leave when the agent does, on a signal, or when the place has come to its end.
 *
 * Resolves when the place is taken; the process then ends by itself. @throws RefusedError where there is none to be had
 */
export async function run ({ config, version, log, openDaemon, cwd, onOpen, from }: RunOptions): Promise<void> {
  const membership = new Membership({ config, version, log, openDaemon })
  // Answered before anything else is known: clients give a server few seconds to say hello.
  const agent = config.command === 'stdio' && isAgentOn(0) ? await serve() : undefined
  let leaving = false

  const end = onShutdown({
    log,
    ...(from && { from }),
    close: async () => {
      leaving = true
      // Calls in flight are answered while there still is a desk to ask.
      await agent?.close()
      // Only what an agent has used is worth keeping open for it. With the first process of a container all others end.
      await membership.leave({ successor: agent?.spoken === true && process.pid !== 1 })
      if (agent !== undefined) await written(process.stdout)
    }
  })
  agent?.ended.then(() => end('the agent has left'))

  try {
    await membership.start()
  } catch (err) {
    if (leaving) return
    throw err
  }
  membership.ended.then(why => end(why))
  if (leaving) return
  const { bind } = membership.config
  onOpen({ page: { bind, port: membership.daemon?.port ?? config.port }, standsBy: membership.role === 'client', agent: agent !== undefined })

  async function serve (): Promise<McpStdio> {
    const stream = ownStream(config, cwd, log)
    const { tools = config.agentToken === undefined ? 'decisions' : 'all' } = config
    // Loaded when it is wanted: most have no room, and an agent's first message need not wait for it.
    const more = tools === 'decisions' ? undefined : (await import('./stdio-room')).roomOver(membership, { tools, stream: config.agentToken === undefined ? stream : undefined })
    return serveMcpStdio({ desk: membership, stream: ownName(stream), version, log, more })
  }

  /** The name of a token beats the folder's: the daemon puts it where no stream is sent. */
  function ownName (stream: string): string {
    return config.agentToken === undefined ? stream : STREAM_OF_TOKEN
  }
}
