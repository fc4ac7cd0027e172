import { homedir } from 'node:os'
import type { ToolSet } from '../mcp'
import type { OriginPolicy } from '../origin'
import { isLoopbackAddress } from '../origin'
import { badSetting, readAddress, readOrigins, readPolicy, readSources, readSwitch, readToken, shown, tokenWarning } from '../settings'
import { readBind, readPort, readStateDir, readStream, readTools, readTrustProxy } from './settings'
import { exposedBy, readEdge, type Edge } from './edge-settings'
import { stateDirOf } from './state-dir'

/** What one process runs with. Read once, at start; nothing else looks at the environment. */
export interface Config {
  /** `stdio` speaks MCP on standard input and output and serves HTTP; `serve` serves HTTP only. */
  command: 'stdio' | 'serve'
  /** A successor: it ends by itself when nothing waits for it any more. */
  linger: boolean
  /** The stream as it was set; unset means the name of the working folder. */
  stream?: string
  token?: string
  /** An address or a host name, without brackets. Every spelling of `localhost` has become 127.0.0.1. */
  bind: string
  /** 1 to 65535, and not 3000 to 3899. */
  port: number
  /** Absolute path. */
  stateDir: string
  /** Each `scheme://host[:port]`, as a browser would send it. */
  allowedOrigins: string[]
  originPolicy: OriginPolicy
  /** Whether forwarding headers are believed; a text names the proxies, comma-separated addresses and ranges, that are. */
  trustProxy: boolean | string
  frameAncestors: string[]
  /** Whether `/metrics` is there. */
  metrics: boolean
  /** Who may reach it, how the rooms are kept, and where it is known to be. */
  edge: Edge
  /** Whom an agent's process speaks for, where agents have tokens. From the environment only: a flag can be seen in the process list. */
  agentToken?: string
  /** Where the Ready Room is that an agent's process speaks to, without a slash at the end; unset, on this machine. */
  url?: string
  /** Which tools agents are offered; unset, those of the tickets, and to a minted token those of the room too. */
  tools?: ToolSet
  /** What the person has set, as against what is a default: only that can be at odds with a running daemon. */
  given: { stateDir: boolean, token: boolean, bind: boolean, port: boolean }
}

/** The flags that a variable of the same name stands behind. */
export const FLAGS = [
  'stream', 'token', 'bind', 'state-dir', 'port', 'allowed-origins', 'origin-policy', 'trust-proxy', 'frame-ancestors',
  'metrics'
] as const

export type Flag = typeof FLAGS[number]
export type Flags = { [F in Flag]?: string | undefined }

export const variableOf = (flag: Flag): string => `READYROOM_${flag.toUpperCase().replaceAll('-', '_')}`

/** A value that cannot be started with. The message names where it stands, what it is and what is allowed; a token is never shown. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** 2 where the command line is wrong, 1 where the environment is. */
  readonly exitCode: 1 | 2

  constructor (message: string, exitCode: 1 | 2) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface Surroundings {
  command?: Config['command']
  linger?: boolean
  flags?: Flags
  env?: Record<string, string | undefined>
  cwd?: string
  platform?: NodeJS.Platform
  /** The person's home folder. @throws where there is none */
  home?: () => string
}

/**
 * What the flags and the environment say, and the defaults for the rest. A flag wins over its variable. A blank value
 * stands for the default, which is what a compose file makes of a variable that is not set, but for the token: a blank
 * one there is a secret that got lost on its way.
 *
 * @throws ConfigError
 */
export function readConfig ({
  command = 'stdio', linger = false, flags = {}, env = process.env, cwd = process.cwd(), platform = process.platform, home = homedir
}: Surroundings = {}): Config {
  /** Reads one setting by `read`, which returns the value or throws an error that says what is allowed. */
  function setting<T> (flag: Flag, read: (text: string) => T): T | undefined {
    const fromFlag = flags[flag] !== undefined
    const text = fromFlag ? flags[flag] : env[variableOf(flag)]
    if (text === undefined || (flag !== 'token' && text.trim() === '')) return undefined
    try {
      return read(text)
    } catch (err) {
      const name = fromFlag ? `--${flag}` : variableOf(flag)
      throw new ConfigError(badSetting(name, flag === 'token' ? undefined : text, err), fromFlag ? 2 : 1)
    }
  }

  function variable<T> (name: string, read: (text: string) => T, secret = false): T | undefined {
    const text = env[name]
    if (text === undefined || (!secret && text.trim() === '')) return undefined
    try {
      return read(text)
    } catch (err) {
      throw new ConfigError(badSetting(name, secret ? undefined : text, err), 1)
    }
  }

  const agentToken = variable('READYROOM_AGENT_TOKEN', readToken, true)
  const tools = variable('READYROOM_TOOLS', readTools)
  const url = variable('READYROOM_URL', readAddress)
  const stream = setting('stream', readStream)
  const token = setting('token', readToken)
  const bind = setting('bind', readBind)
  const port = setting('port', readPort)
  const stateDir = setting('state-dir', text => readStateDir(text, { cwd, home }))
  return {
    command,
    linger,
    ...(stream !== undefined && { stream }),
    ...(token !== undefined && { token }),
    ...(agentToken !== undefined && { agentToken }),
    ...(tools !== undefined && { tools }),
    ...(url !== undefined && { url }),
    bind: bind ?? '127.0.0.1',
    port: port ?? 8971,
    stateDir: stateDir ?? defaultStateDir({ platform, env, home }),
    allowedOrigins: setting('allowed-origins', readOrigins) ?? [],
    originPolicy: setting('origin-policy', readPolicy) ?? 'strict',
    trustProxy: setting('trust-proxy', readTrustProxy) ?? false,
    frameAncestors: setting('frame-ancestors', readSources) ?? [],
    metrics: setting('metrics', readSwitch) ?? false,
    edge: readEdge(env, (variable, text, err) => new ConfigError(badSetting(variable, text, err), 1)),
    given: { stateDir: stateDir !== undefined, token: token !== undefined, bind: bind !== undefined, port: port !== undefined }
  }
}

/**
 * What must hold before anything listens: whoever can reach an address without a token can answer tickets, and who lets
 * other names or a proxy lead here means others to reach it.
 * Where `flags` has the address, the command line is what is wrong.
 *
 * @throws ConfigError
 */
export function checkReach ({ bind, token, trustProxy, edge }: Config, flags: Flags = {}): void {
  if (token !== undefined) return
  const exposed = exposedBy(edge) ?? (trustProxy === false ? undefined : 'READYROOM_TRUST_PROXY')
  if (exposed !== undefined) {
    throw new ConfigError(`${exposed} is set: others are meant to reach this Ready Room, so it needs a token. ` +
      `Set READYROOM_TOKEN to a secret of at least 24 characters, or leave ${exposed} out.`, 1)
  }
  if (isLoopbackAddress(bind)) return
  const fromFlag = (flags.bind ?? '').trim() !== ''
  throw new ConfigError(`${fromFlag ? '--bind' : 'READYROOM_BIND'} is ${shown(bind)}: others can reach that address, so it needs a token. ` +
    'Set READYROOM_TOKEN to a secret of at least 24 characters, or bind to 127.0.0.1.', fromFlag ? 2 : 1)
}

/** What the person should know, though it starts all the same. */
export function warningsOf ({ token }: Config): string[] {
  const warning = token === undefined ? undefined : tokenWarning(token)
  return warning === undefined ? [] : [warning]
}

/** The address of the heads-up page, for somebody on this machine. */
export function pageUrl ({ bind, port }: Pick<Config, 'bind' | 'port'>): string {
  const host = bind === '0.0.0.0' ? '127.0.0.1' : bind === '::' ? '::1' : bind
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`
}

function defaultStateDir ({ platform, env, home }: Required<Pick<Surroundings, 'platform' | 'env' | 'home'>>): string {
  try {
    return stateDirOf({ platform, env, home: home() })
  } catch {
    throw new ConfigError('READYROOM_STATE_DIR is not set, and there is no home folder to keep the queue in: set it to a folder that can be written.', 1)
  }
}
