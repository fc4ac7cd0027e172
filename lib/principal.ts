/** What a principal may do. More kinds and scopes come with more credentials; every check reads them from here. */
export type Scope = 'tickets:ask' | 'tickets:read' | 'tickets:answer'

/** Who makes a request. Decided in one plugin and passed along; nothing else reads a credential. */
export interface Principal {
  kind: 'owner'
  /** What the audit log calls this principal where a person gave no label of their own. */
  name: string
  scopes: readonly Scope[]
}

/** The holder of the token, or anybody on loopback where no token is set. */
export const OWNER: Principal = { kind: 'owner', name: 'human', scopes: ['tickets:ask', 'tickets:read', 'tickets:answer'] }
