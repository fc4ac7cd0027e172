import { DurableObject } from 'cloudflare:workers'
import type { RoomEvent, RoomInfo } from '../../schemas/room'
import type { Command } from '../../lib/room/call'
import type { KnownToken } from '../../lib/room/commands/tokens'
import { all, run } from '../../lib/room/steps'
import { COMMANDS, type CommandName, type Outcome } from '../../lib/room/store'
import { db } from '../../lib/room/tables'
import { LOG } from '../log'
import { answering, ObjectEngine, type Answer } from './engine'
import { behind, caughtUp, changed, setValue, tokensFor, valueOf, type TokenSet } from './mirror'
import { roomStub, type Job, type RegistryStub, type RoomsEnv } from './objects'

/** How soon rooms that could not be reached are told again, in milliseconds. */
const RETRY_MS = 30_000
const QUEUE = 'queue'

/** What whoever only looks is told where nothing was ever kept. */
const NOTHING: Partial<Record<CommandName, unknown>> = {
  loadTokens: { initialised: false, tokens: [], rooms: [] },
  listTokens: { tokens: [] },
  listRooms: { rooms: [] }
}

/** Which rooms there are, and who holds a token. A change of tokens is in the rooms that it concerns before it is acknowledged. */
export class RegistryObject extends DurableObject<RoomsEnv> implements RegistryStub {
  readonly #engine: ObjectEngine

  constructor (ctx: DurableObjectState, env: RoomsEnv) {
    super(ctx, env)
    this.#engine = new ObjectEngine(ctx.storage)
  }

  run (job: Job): Promise<Answer<Outcome<unknown>>> {
    return answering(async () => {
      const nothing = NOTHING[job.name]
      if (nothing !== undefined && !this.#engine.isThere) return { result: nothing, events: [] }
      this.#engine.make()
      const outcome = this.#engine.transaction(() => this.#change(job))
      const told = await this.#tell(job.queue, job.call.now)
      return { result: outcome.result, events: [...outcome.events, ...told] }
    })
  }

  async tokensFor (room: string): Promise<TokenSet> {
    return this.#engine.isThere ? this.#engine.drive(tokensFor(room)) : { version: 0, tokens: [] }
  }

  noteRoom (info: RoomInfo): Promise<Answer<null>> {
    return answering(() => {
      const { room, description = null, repo_url: address = null, onboarding_notes: notes = null, retention_days: days } = info
      const set = { description, repo_url: address, onboarding_notes: notes, retention_days: days }
      this.#engine.drive(run(db.updateTable('rooms').set(set).where('name', '=', room)))
      return null
    })
  }

  forgetRoom (room: string): Promise<Answer<null>> {
    return answering(() => {
      this.#engine.drive(run(db.deleteFrom('rooms').where('name', '=', room)))
      return null
    })
  }

  override async alarm (): Promise<void> {
    if (!this.#engine.isThere) return
    const queue = this.#engine.drive(valueOf(QUEUE))
    if (queue !== undefined) await this.#tell(queue, Date.now())
  }

  /** In one transaction with whom it has to be told. */
  #change ({ queue, name, call, input }: Job): Outcome<unknown> {
    const events: RoomEvent[] = []
    const command = COMMANDS[name] as Command<unknown, unknown>
    const before = name === 'revokeTokens' ? this.#live() : []
    const result = this.#engine.drive(command({ ...call, events }, input))
    const rooms = this.#concerned(name, call.room, result, before)
    if (rooms !== undefined) {
      this.#engine.drive(changed(rooms, call.now))
      this.#engine.drive(setValue(QUEUE, queue))
    }
    return { result, events }
  }

  #live (): KnownToken[] {
    const call = { actor: { name: 'system', kind: 'system', admin: true } as const, room: '', now: 0, events: [] }
    return this.#engine.drive(COMMANDS.loadTokens(call, {})).tokens
  }

  #concerned (name: CommandName, room: string, result: unknown, before: readonly KnownToken[]): string[] | undefined {
    if (name === 'addRoom') return [room.toLowerCase()]
    const tokens = name === 'mintToken'
      ? [result as KnownToken]
      : name === 'revokeTokens' ? before.filter(({ id }) => (result as { revoked: number[] }).revoked.includes(id)) : undefined
    if (tokens === undefined) return undefined
    if (tokens.some(({ all_rooms: everywhere }) => everywhere)) return this.#engine.drive(all(db.selectFrom('rooms').select('name'))).map(({ name }) => name)
    return [...new Set(tokens.flatMap(({ home, rooms }) => [home, ...rooms]))]
  }

  /** Tells the rooms that are behind who holds a token now. One that cannot be reached is told later, and asks by itself before it refuses. */
  async #tell (queue: string, now: number): Promise<RoomEvent[]> {
    const rooms = this.#engine.drive(behind())
    if (rooms.length === 0) return []
    const told = await Promise.all(rooms.map(async room => {
      try {
        const tokens = this.#engine.drive(tokensFor(room))
        const answer = await roomStub(this.env, queue, room).learn(room, tokens, now)
        if ('error' in answer) throw new Error(answer.error.message)
        this.#engine.transaction(() => { this.#engine.drive(caughtUp(room, tokens.version)) })
        return answer.ok.events
      } catch (err) {
        LOG.warn({ room, err }, 'A room could not be told who holds a token; it will be')
        await this.ctx.storage.setAlarm(Date.now() + RETRY_MS)
        return []
      }
    }))
    return told.flat()
  }
}
