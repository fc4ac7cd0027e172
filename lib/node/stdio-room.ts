import { randomUUID } from 'node:crypto'
import type { McpServerOptions, ToolSet } from '../mcp'
import { ROOM_TOOLS } from '../room/tools'
import type { Membership } from './membership'

/** How long a list of tools waits to hear what its caller may use, in milliseconds: clients give a server few seconds. */
const ASK_MS = 3_000

/** The tools of the room over stdio: whichever process is the daemon runs them, for whom this process speaks. */
export function roomOver (
  membership: Pick<Membership, 'room' | 'whoami'>, { tools, stream }: { tools: ToolSet, stream: string | undefined }
): Pick<McpServerOptions, 'tools' | 'room' | 'offered'> {
  return {
    tools,
    room: {
      tools: ROOM_TOOLS,
      // The key is made here, so that the call can be sent again to whoever is the daemon then.
      call: (name, args, signal) => membership.room({ name, args, key: randomUUID(), ...(stream !== undefined && { stream }) }, { signal })
    },
    // Who is not known lists everything; each call is checked by the daemon, and says what is missing.
    offered: () => membership.whoami(ASK_MS).catch(() => undefined)
  }
}
