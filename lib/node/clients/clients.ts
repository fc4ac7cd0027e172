import type { ClientName, Scope } from './names'
import { appData, at, folderOf, type Place, xdgConfig } from './place'
import type { TokenUse, Way } from './way'

/** The name of the entry, in every client. */
export const ENTRY = 'readyroom'

type Fields = Record<string, unknown>

export interface Client {
  name: ClientName
  /** As its makers call it. */
  title: string
  /** `json` allows no comments: its client refuses the whole file over one. */
  format: 'json' | 'jsonc' | 'toml'
  /** Where its settings may be; the first is made where none is there. */
  files (scope: Scope, place: Place): string[]
  /** Under which names the entry stands. `content` is what the file says now. */
  path (content: unknown): string[]
  /** The entry, for the form that `content` has. */
  entry (way: Way, content: unknown): Fields
  /** What stands in an entry of one kind only, and must go when it becomes one of the other. */
  only: Record<Way['kind'], readonly string[]>
  /** What the client replaces in a value by something else; such a value cannot be written there. */
  expands: RegExp | undefined
  /** The file in a project that teaches its agents. */
  teaches: string
}

/**
 * How long a client should give one call: wait_for_answer takes 600 seconds at most, and answers a little before that.
 * Each client counts in its own unit.
 */
const CALL_S = 610
/** A first npx fetches the package, which takes longer than most clients wait. */
const FETCH_S = 60

/** With `refer`, the way in which the client names a variable of its environment. */
function variables ({ env, token }: Way & { kind: 'stdio' }, refer: (name: string) => string): Record<string, string> | undefined {
  const all = { ...env, ...withToken(token, refer, (text, variable) => ({ [variable]: text })) }
  return Object.keys(all).length === 0 ? undefined : all
}

const headers = ({ origin, token }: Way & { kind: 'http' }, refer: (name: string) => string): Record<string, string> =>
  ({ Origin: origin, ...withToken(token, refer, text => ({ Authorization: `Bearer ${text}` })) })

function withToken (
  token: TokenUse, refer: (name: string) => string, put: (text: string, variable: string) => Record<string, string>
): Record<string, string> {
  if (token.kind === 'none') return {}
  return put(token.kind === 'inline' ? token.token : refer(token.variable), token.variable)
}

/** Without what is not set. */
const fields = (all: Fields): Fields => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))

const under = (name: string) => (): string[] => [name, ENTRY]

const STDIO_ONLY = ['command', 'args', 'env', 'envFile', 'cwd'] as const
const HTTP_ONLY = ['url', 'headers'] as const

const claude: Client = {
  name: 'claude',
  title: 'Claude Code',
  format: 'json',
  files: (scope, place) => [scope === 'project' ? at(place, place.cwd, '.mcp.json') : at(place, folderOf(place, 'CLAUDE_CONFIG_DIR') ?? place.home, '.claude.json')],
  path: under('mcpServers'),
  entry: way => way.kind === 'stdio'
    ? fields({ type: 'stdio', command: way.command, args: way.args, env: variables(way, braced), timeout: CALL_S * 1000 })
    : { type: 'http', url: way.url, headers: headers(way, braced), timeout: CALL_S * 1000 },
  only: { stdio: STDIO_ONLY, http: [...HTTP_ONLY, 'headersHelper', 'oauth'] },
  expands: /\$\{/,
  teaches: 'CLAUDE.md'
}

const codex: Client = {
  name: 'codex',
  title: 'Codex',
  format: 'toml',
  files: (scope, place) => [scope === 'project' ? at(place, place.cwd, '.codex', 'config.toml') : at(place, folderOf(place, 'CODEX_HOME') ?? at(place, place.home, '.codex'), 'config.toml')],
  path: under('mcp_servers'),
  // It passes next to nothing of its environment on, and reads no reference in a value: variables are named instead.
  entry: way => way.kind === 'stdio'
    ? fields({
      command: way.command,
      args: way.args,
      env_vars: way.token.kind === 'reference' ? [way.token.variable] : undefined,
      startup_timeout_sec: way.fetched ? FETCH_S : undefined,
      tool_timeout_sec: CALL_S,
      env: variables(way.token.kind === 'reference' ? { ...way, token: { kind: 'none' } } : way, braced)
    })
    : fields({
      url: way.url,
      bearer_token_env_var: way.token.kind === 'reference' ? way.token.variable : undefined,
      tool_timeout_sec: CALL_S,
      http_headers: headers(way.token.kind === 'reference' ? { ...way, token: { kind: 'none' } } : way, braced)
    }),
  only: {
    stdio: ['command', 'args', 'env', 'env_vars', 'cwd', 'startup_timeout_sec'],
    http: ['url', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'oauth', 'oauth_resource', 'scopes']
  },
  expands: undefined,
  teaches: 'AGENTS.md'
}

const gemini: Client = {
  name: 'gemini',
  title: 'Gemini CLI',
  format: 'jsonc',
  files: (scope, place) => [at(place, scope === 'project' ? place.cwd : folderOf(place, 'GEMINI_CLI_HOME') ?? place.home, '.gemini', 'settings.json')],
  path: under('mcpServers'),
  entry: way => way.kind === 'stdio'
    ? fields({ command: way.command, args: way.args, env: variables(way, braced), timeout: CALL_S * 1000 })
    : { httpUrl: way.url, headers: headers(way, braced), timeout: CALL_S * 1000 },
  only: { stdio: STDIO_ONLY, http: [...HTTP_ONLY, 'httpUrl', 'type', 'oauth', 'authProviderType'] },
  expands: /\$[A-Za-z_{]|%[A-Za-z_]\w*%/,
  teaches: 'GEMINI.md'
}

const cursor: Client = {
  name: 'cursor',
  title: 'Cursor',
  format: 'jsonc',
  files: (scope, place) => [at(place, scope === 'project' ? place.cwd : place.home, '.cursor', 'mcp.json')],
  path: under('mcpServers'),
  entry: way => way.kind === 'stdio'
    ? fields({ type: 'stdio', command: way.command, args: way.args, env: variables(way, ofEditor) })
    : { url: way.url, headers: headers(way, ofEditor) },
  only: { stdio: ['type', ...STDIO_ONLY], http: [...HTTP_ONLY, 'auth'] },
  expands: /\$\{/,
  teaches: 'AGENTS.md'
}

const vscode: Client = {
  name: 'vscode',
  title: 'VS Code',
  format: 'jsonc',
  files: (scope, place) => [scope === 'project' ? at(place, place.cwd, '.vscode', 'mcp.json') : at(place, appData(place), 'Code', 'User', 'mcp.json')],
  path: under('servers'),
  entry: way => way.kind === 'stdio'
    ? fields({ type: 'stdio', command: way.command, args: way.args, env: variables(way, ofEditor) })
    : { type: 'http', url: way.url, headers: headers(way, ofEditor) },
  only: { stdio: [...STDIO_ONLY, 'sandboxEnabled', 'sandbox'], http: [...HTTP_ONLY, 'oauth'] },
  expands: /\$\{/,
  teaches: 'AGENTS.md'
}

const opencode: Client = {
  name: 'opencode',
  title: 'opencode',
  format: 'jsonc',
  files: (scope, place) => scope === 'project'
    ? ['opencode.json', 'opencode.jsonc'].map(name => at(place, place.cwd, name))
    : ['opencode.json', 'opencode.jsonc'].map(name => at(place, xdgConfig(place), 'opencode', name)),
  path: content => isNested(content) ? ['mcp', 'servers', ENTRY] : ['mcp', ENTRY],
  entry (way, content) {
    const timeout = isNested(content) ? { request: CALL_S * 1000 } : CALL_S * 1000
    return way.kind === 'stdio'
      ? fields({ type: 'local', command: [way.command, ...way.args], environment: variables(way, ofOpencode), timeout })
      : { type: 'remote', url: way.url, oauth: false, headers: headers(way, ofOpencode), timeout }
  },
  only: { stdio: ['command', 'environment', 'cwd'], http: [...HTTP_ONLY, 'oauth'] },
  expands: /\{(?:env|file):/,
  teaches: 'AGENTS.md'
}

/** Its second major version keeps servers one level deeper; a file says which it is for by what it has. */
function isNested (content: unknown): boolean {
  const mcp = (content as { mcp?: unknown } | null | undefined)?.mcp
  const servers = (mcp as { servers?: unknown } | null | undefined)?.servers
  return typeof servers === 'object' && servers !== null && !('type' in servers)
}

function braced (name: string): string { return `\${${name}}` }
function ofEditor (name: string): string { return `\${env:${name}}` }
function ofOpencode (name: string): string { return `{env:${name}}` }

export const CLIENTS: Record<ClientName, Client> = { claude, codex, gemini, cursor, vscode, opencode }

/** The name of the first value in which the client would see a reference that is not ours. */
export function misread ({ expands }: Client, way: Way): string | undefined {
  if (expands === undefined) return undefined
  const values = way.kind === 'http' ? { '--url': way.url } : { ...way.env, 'The command': [way.command, ...way.args].join(' ') }
  const inline = way.token.kind === 'inline' ? { [way.token.variable]: way.token.token } : {}
  return Object.entries({ ...values, ...inline }).find(([, value]) => expands.test(value))?.[0]
}
