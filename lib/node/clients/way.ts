import { isLoopbackName } from '../../origin'

/** The owner's secret, and the token of an agent. An entry holds one of them. */
export type TokenVariable = 'READYROOM_TOKEN' | 'READYROOM_AGENT_TOKEN'

/** How a token gets into an entry. `reference`: the client reads it from the variable itself, and no file holds it. */
export type TokenUse =
  | { kind: 'none' }
  | { kind: 'reference', variable: TokenVariable }
  | { kind: 'inline', variable: TokenVariable, token: string }

/** How a client gets to Ready Room: by starting it, or by its address. */
export type Way =
  | { kind: 'stdio', command: string, args: string[], env: Record<string, string>, token: TokenUse, fetched: boolean }
  | { kind: 'http', url: string, origin: string, token: TokenUse }

export type Launch = Pick<Way & { kind: 'stdio' }, 'command' | 'args' | 'fetched'>

export interface Started {
  platform: NodeJS.Platform
  /** The Node that runs this. */
  execPath: string
  /** What it was told besides the script; the sources cannot be run without. */
  execArgv: string[]
  /** The file it was started with, an absolute path. */
  script: string
}

/** What `npx` and its like leave nothing of: the folder is a cache, and may be gone tomorrow. */
const CACHE = /[\\/](?:_npx|dlx|dlx-[^\\/]+|\.bun[\\/]install[\\/]cache)[\\/]/

/**
 * The command that starts this very Ready Room again. From a clone or an installation that is its Node and its file, by
 * absolute paths, since clients have a PATH of their own; from a cache it is npx, which on Windows only cmd can start.
 */
export function launchOf ({ platform, execPath, execArgv, script }: Started): Launch {
  if (CACHE.test(script)) {
    const npx = ['npx', '-y', 'readyroom']
    const [command, ...args] = platform === 'win32' ? ['cmd', '/c', ...npx] : npx
    return { command: command!, args, fetched: true }
  }
  return { command: execPath, args: [...(/\.ts$/.test(script) ? execArgv : []), script], fetched: false }
}

/** The words in which somebody runs another command of this Ready Room on a terminal. */
export function invocation (started: Started): string[] {
  const { args, fetched } = launchOf(started)
  return fetched ? ['npx', '-y', 'readyroom'] : ['node', ...args]
}

/** The longest that a URL or the name in it may be is the client's affair; what must not be in it is ours. */
export interface Address {
  /** The MCP endpoint. */
  url: string
  /** What the client must send as its Origin. */
  origin: string
  /** Where the page is; ends in a slash. */
  base: string
  loopback: boolean
  plain: boolean
  /** The stream that the endpoint names, where it names one. */
  stream: string | undefined
}

/**
 * What `--url` means: the address of a Ready Room, with or without a path before it, or that of an MCP endpoint.
 * @throws Error whose message says what is wrong with it
 */
export function readAddress (text: string, stream?: string): Address {
  let url: URL
  try {
    url = new URL(text.trim())
  } catch {
    throw new Error('it must be an address such as http://127.0.0.1:8971 or https://desk.example/ready')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('it must begin with http:// or https://')
  if (url.username !== '' || url.password !== '') throw new Error('leave the user and the password out of it: an address ends up in logs')
  if (url.search !== '' || url.hash !== '') throw new Error('it may hold no ? and no #: a token travels in a header')
  const [, before = '', named] = /^(.*?)(?:\/mcp(?:\/([^/]*))?)?\/*$/.exec(url.pathname)!
  const base = `${url.origin}${before}/`
  const segment = stream === undefined ? named ?? '' : encodeURIComponent(stream)
  // A path segment of dots means a folder, percent-encoded or not (WHATWG URL, 4.4).
  if (/^\.{1,2}$/.test(segment)) throw new Error(`a stream that is called ${stream} cannot stand in an address`)
  return {
    url: `${base}mcp${segment === '' ? '' : `/${segment}`}`,
    origin: url.origin,
    base,
    loopback: isLoopbackName(url.hostname),
    plain: url.protocol === 'http:',
    stream: stream ?? (named === undefined || named === '' ? undefined : decoded(named))
  }
}

function decoded (segment: string): string {
  try { return decodeURIComponent(segment) } catch { return segment }
}
