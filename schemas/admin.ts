import Type, { type Static, type TSchema } from 'typebox'
import { RoomInfoSchema } from './room'

// What administers identity and rooms: the command line, through the running daemon or under the folder's lock, and `/v1/admin`.

const closed = <P extends Record<string, TSchema>>(properties: P) => Type.Object(properties, { additionalProperties: false })
const Name = Type.String({ minLength: 1, maxLength: 40 })

export const RoleSchema = Type.Unsafe<'agent' | 'observer' | 'approver' | 'admin'>({ type: 'string', enum: ['agent', 'observer', 'approver', 'admin'] })

export const TokenViewSchema = closed({
  id: Type.Integer({ minimum: 1 }),
  agent: Type.String(),
  role: RoleSchema,
  home: Type.String(),
  rooms: Type.Array(Type.String(), { description: 'Beside the home room' }),
  all_rooms: Type.Boolean(),
  created_at: Type.String(),
  last_used_at: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.String()),
  revoked_at: Type.Optional(Type.String())
})

/** One thing to administer, by its name. */
export const ADMIN = {
  init: { input: closed({}), output: closed({ since: Type.String(), room: Type.String() }) },
  'add-room': { input: closed({ room: Name }), output: RoomInfoSchema },
  'add-token': {
    input: closed({
      agent: Name,
      room: Name,
      also: Type.Optional(Type.Array(Name, { maxItems: 100 })),
      role: Type.Optional(RoleSchema),
      all_rooms: Type.Optional(Type.Boolean()),
      expires_at: Type.Optional(Type.String({ description: 'ISO 8601' }))
    }),
    output: closed({ token: Type.String({ description: 'Shown once' }), view: TokenViewSchema })
  },
  list: {
    input: closed({
      revoked: Type.Optional(Type.Boolean()),
      sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the one token to show' }))
    }),
    output: closed({
      initialised: Type.Boolean(),
      rooms: Type.Array(RoomInfoSchema),
      tokens: Type.Array(TokenViewSchema),
      revoked_hidden: Type.Optional(Type.Integer())
    })
  },
  revoke: {
    input: closed({ agent: Type.Optional(Name), id: Type.Optional(Type.Integer({ minimum: 1 })) }),
    output: closed({ revoked: Type.Array(Type.Integer()) })
  },
  purge: {
    input: closed({ older_than_days: Type.Optional(Type.Number({ minimum: 0, maximum: 36_500 })) }),
    output: closed({ purged: Type.Integer() })
  },
  retention: { input: closed({ room: Name, days: Type.Integer({ minimum: 0, maximum: 36_500 }) }), output: RoomInfoSchema },
  'delete-room': { input: closed({ room: Name, confirm: Type.String() }), output: closed({ room: Type.String(), deleted: Type.Literal(true) }) },
  alias: { input: closed({ room: Name, alias: Name, agent: Type.Optional(Name) }), output: closed({ done: Type.Literal(true) }) },
  export: {
    input: closed({
      room: Name,
      format: Type.Optional(Type.Unsafe<'jsonl' | 'md'>({ type: 'string', enum: ['jsonl', 'md'] })),
      after: Type.Optional(Type.String({ description: 'What the page before gave as next' }))
    }),
    output: closed({ text: Type.String(), next: Type.Optional(Type.String()) })
  },
  backup: { input: closed({ file: Type.String({ minLength: 1, maxLength: 4_096 }) }), output: closed({ file: Type.String() }) }
} as const

export type AdminName = keyof typeof ADMIN
export type AdminInput<N extends AdminName> = Static<typeof ADMIN[N]['input']>
export type AdminOutput<N extends AdminName> = Static<typeof ADMIN[N]['output']>

export const AdminCallSchema = closed({
  name: Type.Unsafe<AdminName>({ type: 'string', enum: Object.keys(ADMIN) }),
  input: Type.Unsafe<object>({ type: 'object' })
})
