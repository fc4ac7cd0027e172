import { shown } from '../../settings'
import type { CommandLine } from '../command-line'
import { type Config, ConfigError, FLAGS, type Flag, type Flags, variableOf } from '../config'
import { edgeEnvironment } from '../edge-settings'
import { CLIENTS } from '../clients/clients'
import type { Place } from '../clients/place'
import { invocation, launchOf, readAddress, type Started, type TokenUse, type Way } from '../clients/way'
import type { SetupOptions } from './setup'
import type { Administer, TokenWishes } from './setup-token'

export interface SetupSurroundings {
  /** Unset where nobody ever made a room here. */
  administer?: Administer | undefined
  line: CommandLine
  config: Config
  started: Started
  place: Place
}

/**
 * What `setup` is to write, from what was set here.
 * @throws ConfigError where the command line cannot be meant so
 */
export function setupOptions ({ line, config, started, place, administer }: SetupSurroundings): Pick<SetupOptions, 'client' | 'scope' | 'way' | 'place' | 'write' | 'again' | 'remarks' | 'wishes'> {
  const { scope = 'user', write = false, flags } = line
  const client = CLIENTS[line.client!]
  const { way, remarks } = line.url === undefined ? byCommand(line, config, started, place) : byAddress(line, config)
  const wishes: TokenWishes = {
    agent: line.agent, room: line.room, elsewhere: line.url !== undefined, given: config.agentToken, stream: config.stream, cwd: place.cwd, administer
  }
  return { client, scope, way, place, write, again: [...invocation(started), ...repeated(line, config, flags)], remarks, wishes }
}

function byCommand (line: CommandLine, config: Config, started: Started, { env }: Place): { way: Way, remarks: string[] } {
  return {
    way: { kind: 'stdio', ...launchOf(started), env: settingsOf(config, line.flags, env), token: tokenUse(line, config, config.token !== undefined) },
    remarks: []
  }
}

function byAddress (line: CommandLine, config: Config): { way: Way, remarks: string[] } {
  try {
    const { url, origin, loopback, plain, stream } = readAddress(line.url!, line.flags.stream === undefined ? undefined : config.stream)
    const remarks: string[] = []
    if (stream === undefined) remarks.push('No stream: every ask_human must bring its own. --stream NAME puts one into the address.')
    if (plain && !loopback) remarks.push(`Whoever is on the way to ${origin} can read the token and the tickets. Put it behind https.`)
    return { way: { kind: 'http', url, origin, token: tokenUse(line, config, config.token !== undefined || !loopback) }, remarks }
  } catch (err) {
    throw new ConfigError(`--url is ${shown(line.url!)}: ${(err as Error).message}.`, 2)
  }
}

function tokenUse ({ inlineToken }: CommandLine, { token }: Config, wanted: boolean): TokenUse {
  if (!inlineToken) return wanted ? { kind: 'reference', variable: 'READYROOM_TOKEN' } : { kind: 'none' }
  if (token === undefined) throw new ConfigError('--inline-token writes the token into the entry, and there is none: set READYROOM_TOKEN.', 2)
  return { kind: 'inline', variable: 'READYROOM_TOKEN', token }
}

/**
 * What was set here beside the token, as an agent's process must have it to find the same queue: clients pass little of
 * their own environment on. A stream is put there only on request, since it would be that of every folder.
 */
function settingsOf (config: Config, flags: Flags, env: Record<string, string | undefined>): Record<string, string> {
  const values: Record<Exclude<Flag, 'token'>, string> = {
    stream: config.stream ?? '',
    bind: config.bind,
    'state-dir': config.stateDir,
    port: String(config.port),
    'allowed-origins': config.allowedOrigins.join(','),
    'origin-policy': config.originPolicy,
    'trust-proxy': typeof config.trustProxy === 'string' ? config.trustProxy : config.trustProxy ? 'on' : 'off',
    'frame-ancestors': config.frameAncestors.join(' '),
    metrics: config.metrics ? 'on' : 'off'
  }
  const isSet = (flag: Flag): boolean => (flags[flag] ?? (flag === 'stream' ? '' : env[variableOf(flag)]) ?? '').trim() !== ''
  const edge = Object.entries(edgeEnvironment(config.edge)).filter(([variable]) => (env[variable] ?? '').trim() !== '')
  return Object.fromEntries([
    ...FLAGS.filter(flag => flag !== 'token' && isSet(flag)).map(flag => [variableOf(flag), values[flag as Exclude<Flag, 'token'>]]), ...edge
  ])
}

/** The same again, to write; the token is left to the environment, since a line is kept in a history. */
function repeated ({ client, scope, url, inlineToken, agent, room }: CommandLine, config: Config, flags: Flags): string[] {
  const words = ['setup', client!]
  if (scope !== undefined) words.push('--scope', scope)
  if (url !== undefined) words.push('--url', url)
  if (agent !== undefined) words.push('--agent', agent)
  if (room !== undefined) words.push('--room', room)
  for (const flag of FLAGS) {
    if (flag !== 'token' && flags[flag] !== undefined) words.push(`--${flag}=${flag === 'state-dir' ? config.stateDir : flags[flag]}`)
  }
  if (inlineToken) words.push('--inline-token')
  return [...words, '--write']
}
