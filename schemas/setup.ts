import Type, { type Static, type TSchema } from 'typebox'

// What the admin page shows beside what it administers.

const closed = <P extends Record<string, TSchema>>(properties: P) => Type.Object(properties, { additionalProperties: false })
const Names = Type.Array(Type.String())

/** How this Ready Room stands towards whoever might come. It holds no secret: of a token only that there is one. */
export const PostureSchema = closed({
  version: Type.String(),
  worker: Type.Optional(Type.Literal(true, { description: 'It is a Cloudflare Worker: there is no network around it' })),
  token_set: Type.Boolean({ description: 'Whether the owner\'s token is set' }),
  initialised: Type.Boolean({ description: 'Whether agents need tokens of their own' }),
  admin_api: Type.Boolean(),
  ui: Type.Boolean(),
  console_lan_only: Type.Boolean(),
  host_check: Type.Boolean(),
  allowed_hosts: Names,
  public_hosts: Names,
  allowed_origins: Names,
  origin_policy: Type.String(),
  trust_proxy: Type.String({ description: 'off, on, or the proxies that are trusted' }),
  public_url: Type.Optional(Type.String()),
  lan_url: Type.Optional(Type.String()),
  auth_fail_limit: Type.Integer({ description: '0 counts none' }),
  auth_fail_window_s: Type.Integer()
})

export const SetupTextQuerySchema = closed({ id: Type.Integer({ minimum: 1, description: 'The number of the token, as list shows it' }) })

/** What is typed into a terminal. A line that this shell has no way to write is left out. */
export const SetupLinesSchema = closed({
  add: Type.Optional(Type.String({ description: 'Makes the entry of the MCP client' })),
  hook_fetch: Type.Optional(Type.String({ description: 'In the project\'s folder: fetches the hook, and refuses it where its SHA-256 is another than the server said' }))
})

export const SetupRouteSchema = closed({
  where: Type.Unsafe<'lan' | 'remote'>({ type: 'string', enum: ['lan', 'remote'] }),
  url: Type.String(),
  page: Type.String({ description: 'Where a person uses the token' }),
  terminal: Type.Optional(closed({ bash: SetupLinesSchema, powershell: SetupLinesSchema, cmd: SetupLinesSchema })),
  mcp_json: Type.Optional(Type.String({ description: 'The file .mcp.json of a project' })),
  hook_settings: Type.Optional(Type.String({ description: 'The file .claude/settings.local.json of a project' }))
})

export const SetupTextSchema = closed({
  placeholder: Type.String({ description: 'Stands where the token goes: no answer of this route holds one' }),
  routes: Type.Array(SetupRouteSchema),
  brief: Type.String({ description: 'To be pasted to the agent, or for the person' }),
  command: Type.String({ description: 'What makes such a token on the command line' })
})

export type Posture = Static<typeof PostureSchema>
export type SetupLines = Static<typeof SetupLinesSchema>
export type SetupRoute = Static<typeof SetupRouteSchema>
export type SetupText = Static<typeof SetupTextSchema>
