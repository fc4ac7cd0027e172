import { parseArgs } from 'node:util'
import { timeOf } from '../iso-time'
import { ADMIN_SWITCHES, readAdminCall, type AdminCall } from './admin-line'
import { CLIENT_NAMES, type ClientName, SCOPES, type Scope } from './clients/names'
import { ConfigError, FLAGS, type Flag, type Flags } from './config'

export const COMMANDS = ['serve', 'status', 'stop', 'setup', 'doctor', 'audit', 'admin', 'hook', 'watch', 'help'] as const
export type CommandName = 'stdio' | typeof COMMANDS[number]

export interface CommandLine {
  command: CommandName
  /** What help is wanted about. */
  topic?: CommandName
  version: boolean
  /** The settings that stand on the command line. */
  flags: Flags
  linger: boolean
  json: boolean
  verify: boolean
  head?: string
  /** ISO 8601, UTC, milliseconds. */
  since?: string
  /** What `setup` is about; unset where only its instructions are wanted. */
  client?: ClientName
  /** `setup hook`: what Claude Code runs, and not an entry of MCP. */
  hook?: true
  scope?: Scope
  write?: true
  instructions?: true
  inlineToken?: true
  /** An address of a Ready Room, not looked at yet. */
  url?: string
  quick?: true
  fix?: true
  /** What `admin` is to do. */
  admin?: AdminCall
  /** For whom, and in which room, `setup` makes a token. */
  agent?: string
  room?: string
}

const SWITCHES = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  linger: { type: 'boolean' },
  json: { type: 'boolean' },
  verify: { type: 'boolean' },
  head: { type: 'string' },
  since: { type: 'string' },
  scope: { type: 'string' },
  url: { type: 'string' },
  write: { type: 'boolean' },
  instructions: { type: 'boolean' },
  'inline-token': { type: 'boolean' },
  quick: { type: 'boolean' },
  fix: { type: 'boolean' },
  ...ADMIN_SWITCHES
} as const

/** Flags that belong to a command of their own; settings go with every one. */
const ONLY: Record<string, CommandName[]> = {
  linger: ['serve'],
  json: ['status', 'audit', 'doctor', 'admin'],
  verify: ['audit'],
  head: ['audit'],
  since: ['audit'],
  scope: ['setup'],
  write: ['setup'],
  instructions: ['setup'],
  'inline-token': ['setup'],
  url: ['setup', 'doctor', 'admin'],
  quick: ['doctor'],
  fix: ['doctor'],
  ...Object.fromEntries(Object.keys(ADMIN_SWITCHES).map(flag => [flag, flag === 'agent' || flag === 'room' ? ['admin', 'setup'] : ['admin']] as const))
}

const SETTINGS = Object.fromEntries(FLAGS.map(flag => [flag, { type: 'string' }])) as Record<Flag, { type: 'string' }>

/**
 * Reads the words behind `readyroom`.
 * @throws ConfigError with exit code 2 for anything that is not understood
 */
export function readCommandLine (argv: string[]): CommandLine {
  const { values, positionals } = parse(argv)
  const [word, ...more] = positionals
  if (word !== undefined && !isCommand(word)) {
    // A secret with a space in it, not quoted, ends up here; it is not repeated.
    const got = values.token === undefined ? ` ${JSON.stringify(word.slice(0, 100))}` : ''
    throw usage(`There is no command${got}; there are ${COMMANDS.join(', ')}, and readyroom alone`)
  }
  const asksHelp = values.help === true || word === 'help'
  const topic = word === 'help' ? more.shift() : word
  if (topic !== undefined && !isCommand(topic)) throw usage(`There is no help on that; there is on ${COMMANDS.join(', ')}`)
  const client = word === 'setup' && !asksHelp ? more.shift() : undefined
  const adminWords = word === 'admin' ? more.splice(0) : []
  if (more.length > 0) throw usage(word === 'setup' ? 'Too many words: one client at a time' : `Too many words: ${word} takes flags only`)

  const command: CommandName = asksHelp ? 'help' : word ?? 'stdio'
  const {
    help, version = false, linger = false, json = false, verify = false, head, since, scope, url, write, instructions, 'inline-token': inlineToken, quick, fix,
    agent, room, also: _also, readonly: _readonly, approver: _approver, admin: _admin, 'all-rooms': _all, expires: _expires, revoked: _revoked, id: _id,
    'older-than': _older, days: _days, confirm: _confirm, format: _format, ...flags
  } = values
  if (command !== 'help') {
    for (const [flag, commands] of Object.entries(ONLY)) {
      if (flag in values && !commands.includes(command)) {
        throw usage(`--${flag} goes with readyroom ${commands.join(' and readyroom ')}${command === 'stdio' ? '' : `, not with readyroom ${command}`}`)
      }
    }
  }
  if (since !== undefined && verify) throw usage('--since goes without --verify, which always checks the log from its first line')
  if (command === 'setup' && !version) checkSetup(client, values)
  return {
    command,
    ...(topic !== undefined && { topic }),
    version,
    flags,
    linger,
    json,
    verify,
    ...(head !== undefined && { head: readHead(head, verify) }),
    ...(since !== undefined && { since: readSince(since) }),
    ...(isOneOf(CLIENT_NAMES, client) && { client }),
    ...(client === 'hook' && { hook: true as const }),
    ...(isOneOf(SCOPES, scope) && { scope }),
    ...(url !== undefined && { url }),
    ...(write && { write }),
    ...(instructions && { instructions }),
    ...(inlineToken && { inlineToken }),
    ...(quick && { quick }),
    ...(fix && { fix }),
    ...(command === 'admin' && !version && { admin: adminCall(adminWords, values) }),
    ...(command === 'setup' && agent !== undefined && { agent }),
    ...(command === 'setup' && room !== undefined && { room })
  }
}

function adminCall (words: string[], values: ReturnType<typeof parse>['values']): AdminCall {
  try {
    return readAdminCall(words, values)
  } catch (err) {
    throw usage((err as Error).message)
  }
}

function checkSetup (client: string | undefined, values: ReturnType<typeof parse>['values']): void {
  const { scope, url, write, instructions, 'inline-token': inlineToken, token } = values
  // What is no client may be a piece of a token that was not quoted.
  const got = client === undefined || token !== undefined ? '' : ` is not ${JSON.stringify(client.slice(0, 100))}: it`
  if (client === undefined ? !instructions : !isOneOf([...CLIENT_NAMES, 'hook'], client)) throw usage(`The client behind setup${got} must be one of ${CLIENT_NAMES.join(', ')}, or hook`)
  if (client === 'hook' && (instructions || inlineToken)) throw usage('setup hook takes --write, --scope and --url')
  if (scope !== undefined && !isOneOf(SCOPES, scope)) throw usage(`--scope is ${JSON.stringify(scope.slice(0, 100))}: it must be user, for everything you do, or project, for this folder`)
  if (instructions && write) throw usage('--instructions prints a paragraph, and goes without --write')
  if (inlineToken && scope === 'project') throw usage('--inline-token goes without --scope project: that file is for everybody who works on the project')
  if (url === undefined) return
  const lost = FLAGS.find(flag => flag !== 'stream' && flag !== 'token' && values[flag] !== undefined)
  if (lost !== undefined) throw usage(`--${lost} goes without --url: who is reached by an address has been started already, with settings of its own`)
}

const isOneOf = <T extends string>(all: readonly T[], word: string | undefined): word is T => (all as readonly (string | undefined)[]).includes(word)

function parse (argv: string[]) {
  try {
    return parseArgs({ args: argv, options: { ...SWITCHES, ...SETTINGS }, allowPositionals: true, strict: true })
  } catch (err) {
    if (!(err instanceof TypeError)) throw err
    const bare = /^Option '(?:-\w, )?(--[\w-]+)[^']*' argument (?:missing|is ambiguous)/.exec(err.message)?.[1]
    if (bare !== undefined) throw usage(`${bare} needs a value; one that begins with a dash is written ${bare}=VALUE`)
    // The first sentence says what is wrong. No message of these shows the value of a flag.
    throw usage(err.message.split(/[.\n]/)[0]!)
  }
}

function readHead (text: string, verify: boolean): string {
  if (!verify) throw usage('--head goes with --verify: it is the hash that the log is checked against')
  const hash = text.trim().toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(hash)) throw usage(`--head is ${JSON.stringify(text.slice(0, 100))}: it must be a hash as audit --verify prints it, 64 hexadecimal digits`)
  return hash
}

function readSince (text: string): string {
  const iso = text.replace(/^(\S{10}) (?=\S)/, '$1T')
  // A time without a zone is UTC, as every time in the log is.
  const time = timeOf(/T[^Z+-]+$/.test(iso) ? `${iso}Z` : iso)
  if (Number.isNaN(time)) {
    throw usage(`--since is ${JSON.stringify(text.slice(0, 100))}: it must be a date or a time such as 2026-01-31 or 2026-01-31T09:30:00Z, in UTC unless it says otherwise`)
  }
  return new Date(time).toISOString()
}

const isCommand = (word: string): word is typeof COMMANDS[number] => (COMMANDS as readonly string[]).includes(word)

const usage = (what: string): ConfigError => new ConfigError(`${what}. readyroom --help shows what there is.`, 2)
