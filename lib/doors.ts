import type { AgentDesk, Desk } from './desk'
import { ReadyroomError } from './errors'
import type { Identity } from './identity'
import type { McpServerOptions, ToolSet } from './mcp'
import { PrincipalDesk } from './principal-desk'
import { OWNER, type Principal } from './principal'
import type { Receipt } from './room/deliveries'
import type { RoomDesk } from './room/desk'

/** Who calls a tool is an agent: without a name of its own it would speak as the owner, and so as a person. */
const NO_NAME = 'No name: the rooms tell agents without a token apart by their streams. Give this one its own by the endpoint, POST /mcp/{stream}, or a token.'

/** What one caller of the tools gets to use. */
export type Caller = Required<Pick<McpServerOptions, 'desk' | 'scopes'>> & Pick<McpServerOptions, 'tools' | 'room' | 'key'>

export interface DoorsOptions { desk: Desk, identity: Identity, rooms?: RoomDesk | undefined, ownerTools?: ToolSet | undefined }

/** Leads whoever has been let in to what is theirs: the tickets as they may use them, and the rooms. */
export class Doors {
  readonly #ownerTools: ToolSet
  readonly identity: Identity
  readonly rooms: RoomDesk | undefined
  readonly #desk: Desk

  /** `ownerTools`: what whoever needs no token is offered over HTTP. The holder of a token gets what it may use. */
  constructor ({ desk, identity, rooms, ownerTools = 'decisions' }: DoorsOptions) {
    this.#desk = desk
    this.#ownerTools = ownerTools
    this.identity = identity
    this.rooms = rooms
  }

  deskOf (principal: Principal): AgentDesk {
    if (principal.kind === OWNER.kind) return this.#desk
    const { identity, rooms } = this
    return new PrincipalDesk(this.#desk, principal, {
      isLive: () => identity.isLive(principal),
      onRevoked: listener => identity.onRevoked(listener),
      hasRoom: room => rooms?.hasRoom(room) ?? true
    })
  }

  /** For one call of an agent with a token: what its response carries, and that it was written. Undefined for everybody else. */
  receiptFor (principal: Principal): Receipt | undefined {
    return principal.kind === OWNER.kind ? undefined : this.rooms?.deliveries.receipt(principal.name)
  }

  /** `stream` tells agents apart that have no token. `receipt` notes what the caller is told, `key` marks a call that may be sent again. */
  callerOf (
    principal: Principal, stream: string | undefined, { receipt, key }: { receipt?: Receipt | undefined, key?: string | undefined } = {}
  ): Caller {
    const { rooms } = this
    const own = this.deskOf(principal)
    const desk = receipt?.around(own) ?? own
    if (rooms === undefined) return { desk, key, scopes: principal.scopes, tools: undefined, room: undefined }
    return {
      desk,
      key,
      scopes: principal.scopes,
      tools: principal.kind === OWNER.kind ? this.#ownerTools : 'all',
      room: {
        tools: rooms.toolsOf(principal),
        call: async (name, args, signal) => {
          receipt?.called()
          if (principal.kind === OWNER.kind && stream === undefined) throw new ReadyroomError('BAD_REQUEST', NO_NAME)
          // Its own desk: what a tool of the room looks up for itself is not told.
          const result = await rooms.call(name, args, { principal, tickets: own, stream, signal, key })
          return receipt?.result(name, result) ?? result
        }
      }
    }
  }
}
