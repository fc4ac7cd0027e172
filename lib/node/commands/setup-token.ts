import { FIRST_ROOM } from '../../room/admin'
import { nameOfStream, readName } from '../../room/names'
import { hashOf } from '../../room/token-book'
import type { AdminOutput } from '../../../schemas/admin'
import type { RunAdmin } from '../administer'
import type { TokenUse } from '../clients/way'
import { ConfigError } from '../config'
import { RefusedError } from '../refused'
import { streamOf, UNNAMED } from '../stream'
import type { SetupOptions } from './setup'

/** Where identity is administered from here; undefined where nobody ever was. */
export type Administer = <T>(use: (run: RunAdmin) => Promise<T>) => Promise<T>

export interface TokenWishes {
  /** What was asked for by `--agent` and `--room`. */
  agent: string | undefined
  room: string | undefined
  /** `--url`: the Ready Room is elsewhere, and mints there. */
  elsewhere: boolean
  /** READYROOM_AGENT_TOKEN, as it is set here. */
  given: string | undefined
  stream: string | undefined
  cwd: string
  administer: Administer | undefined
}

/** What stands for a token where an entry is only shown. */
export const PLACEHOLDER = '<the token, which --write puts here>'

type Options = Pick<SetupOptions, 'client' | 'scope' | 'way' | 'write' | 'remarks'>

/** A token for the entry, and how to take it back when it could not be written. */
export interface Given { use: TokenUse, takeBack: () => Promise<void> }

const KEPT = async (): Promise<void> => {}

/**
 * The token that an agent is to have, where this Ready Room knows its agents by tokens: the one that its entry holds
 * already, else a new one, which is minted only when it is going to be written. Never the owner's secret.
 * @param held the token in the entry now
 * @throws ConfigError, RefusedError, and what the minting refuses
 */
export async function tokenFor (options: Options, wishes: TokenWishes, held: string | undefined): Promise<Given> {
  const given = wishes.elsewhere ? fromElsewhere(options, wishes) : await fromHere(options, wishes, held)
  const { client, way, remarks } = options
  const { use } = given ?? kept(way.token)
  if (use.kind === 'reference') {
    remarks.push(`${client.title} takes the token from its own environment: set ${use.variable} for it. No file holds it.`)
  }
  return given ?? kept(use)
}

function fromElsewhere ({ scope, write }: Options, { agent, room, given }: TokenWishes): Given | undefined {
  if (agent !== undefined || room !== undefined) {
    throw new ConfigError('--agent and --room go without --url: no token can be made elsewhere from here. Set READYROOM_AGENT_TOKEN to one of that Ready Room; it says who the agent is.', 2)
  }
  if (given === undefined) return undefined
  return kept(scope === 'project' ? REFERENCE : { kind: 'inline', variable: 'READYROOM_AGENT_TOKEN', token: write ? given : PLACEHOLDER })
}

async function fromHere (options: Options, wishes: TokenWishes, held: string | undefined): Promise<Given | undefined> {
  const { administer } = wishes
  const found = await administer?.(run => run('list', held === undefined ? {} : { sha256: hashOf(held) }))
  if (administer === undefined || found?.initialised !== true) {
    if (wishes.agent === undefined && wishes.room === undefined) return undefined
    throw new RefusedError('--agent and --room are for a Ready Room that knows its agents by tokens, which this one does not yet. Begin with `readyroom admin init`.')
  }
  const { way, scope, write, remarks } = options
  if (way.token.kind === 'inline') {
    throw new ConfigError('--inline-token would hand your own secret to an agent. Leave it out: since `readyroom admin init` an agent gets a token of its own.', 2)
  }
  if (way.token.kind === 'reference') remarks.push('READYROOM_TOKEN is your own secret, and is not put there: start Ready Room with it yourself, by `readyroom serve`.')
  const agent = agentOf(wishes)
  const room = wishes.room?.toLowerCase() ?? (found.rooms.find(({ room }) => room === FIRST_ROOM) ?? found.rooms[0])?.room
  if (room === undefined) throw new RefusedError('There is no room for the agent. Make one first: readyroom admin add-room main')
  if (scope === 'project') {
    remarks.push(`The file is for everybody who works on the project, so no token is put there. Each makes one: readyroom admin add-token --agent ${agent} --room ${room}`)
    return kept(REFERENCE)
  }
  if (!write) {
    remarks.push(`A token of ${agent} in the room ${room} is made when it is written, unless the entry holds a live one.`)
    return kept(inline(PLACEHOLDER))
  }
  const live = held === undefined ? undefined : found.tokens.find(isLive)
  if (held !== undefined && live !== undefined && fits(live, wishes)) return kept(inline(held))
  const { token, view } = await administer(run => run('add-token', { agent, room }))
  remarks.push(`It has a token of its own now: ${view.agent}, number ${view.id}, home room ${view.home}.` +
    (live === undefined ? '' : ` The one it had, of ${live.agent}, is alive still: readyroom admin revoke --id ${live.id}`))
  return { use: inline(token), takeBack: async () => { await administer(run => run('revoke', { id: view.id })) } }
}

const REFERENCE: TokenUse = { kind: 'reference', variable: 'READYROOM_AGENT_TOKEN' }

const inline = (token: string): TokenUse => ({ kind: 'inline', variable: 'READYROOM_AGENT_TOKEN', token })

const kept = (use: TokenUse): Given => ({ use, takeBack: KEPT })

type Token = AdminOutput<'list'>['tokens'][number]

const isLive = ({ expires_at: end, revoked_at: revoked }: Token): boolean =>
  revoked === undefined && (end === undefined || Date.now() < Date.parse(end))

/** A person's token has no business with an agent. */
const fits = (token: Token, { agent, room }: TokenWishes): boolean => token.role !== 'approver' &&
  (agent === undefined || token.agent === agent.toLowerCase()) && (room === undefined || token.home === room.toLowerCase())

/** What was asked for, else the name of the stream. @throws ConfigError where that cannot be the name of an agent */
function agentOf ({ agent, stream, cwd }: TokenWishes): string {
  try {
    if (agent !== undefined) return readName(agent, '--agent')
    return readName(nameOfStream(streamOf(stream, cwd) ?? UNNAMED), 'The name of an agent, here that of the folder,')
  } catch (err) {
    throw new ConfigError(`${(err as Error).message}${agent === undefined ? ' Choose one with --agent NAME.' : ''}`, 2)
  }
}
