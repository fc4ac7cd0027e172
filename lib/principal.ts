/** What a principal may do. Every check reads it from here; what a route or a tool needs is said where it is registered. */
export type Scope =
  'tickets:ask' | 'tickets:read' | 'tickets:answer' |
  'room:read' | 'room:write' | 'room:admin' | 'server:admin'

export type PrincipalKind = 'owner' | 'agent' | 'observer' | 'approver' | 'admin'

/** Who makes a request. Decided in one plugin and passed along; nothing else reads a credential. */
export interface Principal {
  kind: PrincipalKind
  /** What the audit log calls this principal where a person gave no label of their own. */
  name: string
  scopes: readonly Scope[]
  /** The rooms that it has a grant for. */
  rooms: readonly string[] | 'all'
  /** The room of a call that names none. */
  home: string
  /** The number of the token that it holds; none for the owner. */
  token?: number
}

/** The room of agents that have no token. */
export const LOCAL_ROOM = 'local'

/** The holder of the owner's token, or anybody on loopback where none is set and no token was ever minted. */
export const OWNER: Principal = {
  kind: 'owner',
  name: 'human',
  scopes: ['tickets:ask', 'tickets:read', 'tickets:answer', 'room:read', 'room:write', 'room:admin', 'server:admin'],
  rooms: 'all',
  home: LOCAL_ROOM
}

/** What a minted token lets its holder do. Whoever asks cannot approve: no agent's credential answers a ticket. */
export const ROLE_SCOPES = {
  agent: ['tickets:ask', 'tickets:read', 'room:read', 'room:write'],
  observer: ['tickets:read', 'room:read'],
  approver: ['tickets:read', 'tickets:answer', 'room:read', 'room:write'],
  admin: ['tickets:ask', 'tickets:read', 'room:read', 'room:write', 'room:admin']
} as const satisfies Record<string, readonly Scope[]>

export type Role = keyof typeof ROLE_SCOPES

export const may = ({ scopes }: Principal, scope: Scope): boolean => scopes.includes(scope)

/** Whether a principal has a grant for a room. */
export const mayEnter = ({ rooms }: Principal, room: string): boolean => rooms === 'all' || rooms.includes(room)
