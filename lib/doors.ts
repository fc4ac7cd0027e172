import type { AgentDesk, Desk } from './desk'
import type { Identity } from './identity'
import type { McpServerOptions } from './mcp'
import { PrincipalDesk } from './principal-desk'
import { OWNER, type Principal } from './principal'
import type { RoomDesk } from './room/desk'

/** What one caller of the tools gets to use. */
export type Caller = Required<Pick<McpServerOptions, 'desk' | 'scopes'>> & Pick<McpServerOptions, 'tools' | 'room'>

/** Leads whoever has been let in to what is theirs: the tickets as they may use them, and the rooms. */
export class Doors {
  readonly identity: Identity
  readonly rooms: RoomDesk | undefined
  readonly #desk: Desk

  constructor ({ desk, identity, rooms }: { desk: Desk, identity: Identity, rooms?: RoomDesk | undefined }) {
    this.#desk = desk
    this.identity = identity
    this.rooms = rooms
  }

  deskOf (principal: Principal): AgentDesk {
    return principal.kind === OWNER.kind ? this.#desk : new PrincipalDesk(this.#desk, principal, () => this.identity.isLive(principal))
  }

  /** `stream` tells agents apart that have no token. */
  callerOf (principal: Principal, stream: string | undefined): Caller {
    const { rooms } = this
    const desk = this.deskOf(principal)
    if (rooms === undefined) return { desk, scopes: principal.scopes, tools: undefined, room: undefined }
    return {
      desk,
      scopes: principal.scopes,
      tools: principal.kind === OWNER.kind ? 'decisions' : 'all',
      room: {
        tools: rooms.toolsOf(principal),
        call: (name, args, signal) => rooms.call(name, args, { principal, tickets: desk, stream, signal })
      }
    }
  }
}
