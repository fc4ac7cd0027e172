import { DurableObject } from 'cloudflare:workers'
import { ReadyroomError } from '../../lib/errors'
import type { Command } from '../../lib/room/call'
import { COMMANDS, type CallHead, type Outcome } from '../../lib/room/store'
import { readSettings, type SettingsEnv } from '../settings'
import { applyAfter, type Told } from './history'
import { Housekeeping } from './housekeeping'
import { answering, ObjectEngine, type Answer } from './engine'
import { isLive, mirrorTokens, type TokenSet } from './mirror'
import { registryStub, type Job, type RoomsEnv, type RoomStub, type TellJob } from './objects'

const missing = (room: string): ReadyroomError => new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(room)}.`)

/** One room: its chat, board, files and log, and who holds a token for it. It runs while somebody asks or something is due, and sleeps otherwise. */
export class RoomObject extends DurableObject<RoomsEnv & SettingsEnv> implements RoomStub {
  readonly #engine: ObjectEngine
  readonly #house: Housekeeping

  constructor (ctx: DurableObjectState, env: RoomsEnv & SettingsEnv) {
    super(ctx, env)
    const { prune, pruneIntervalMs: intervalMs } = readSettings(env)
    this.#engine = new ObjectEngine(ctx.storage)
    this.#house = new Housekeeping(this.#engine, ctx.storage, { prune, intervalMs })
    // Where this fails the object is reset, and the next call begins anew.
    ctx.blockConcurrencyWhile(() => this.#house.wake()).catch(() => {})
  }

  override async alarm (): Promise<void> { await this.#house.round(Date.now()) }

  /** What comes in order is done in order: nothing is waited for on the way to a command, but where a token is not known. */
  run (job: Job): Promise<Answer<Outcome<unknown>>> {
    return answering(() => {
      const { name, call } = job
      if (name === 'addRoom') this.#engine.make()
      else if (!this.#engine.isThere) throw missing(call.room)
      return this.#counts(call) ? this.#do(job) : this.#askAgain(job)
    })
  }

  /** What became of tickets, where the room stands at the place behind which it comes. */
  tell ({ queue, call, telling, anew }: TellJob): Promise<Answer<Outcome<Told>>> {
    return answering(async () => {
      if (!this.#engine.isThere) throw missing(call.room)
      if (anew) this.#learn(call.room, await registryStub(this.env, queue).tokensFor(call.room), call.now)
      const outcome = this.#engine.run(applyAfter, call, telling)
      this.#house.after('applyTickets', call, telling, outcome.events)
      return outcome
    })
  }

  learn (room: string, tokens: TokenSet, now: number): Promise<Answer<Outcome<null>>> {
    return answering(() => this.#learn(room, tokens, now))
  }

  #do ({ name, call, input }: Job): Outcome<unknown> {
    const outcome = this.#engine.run(COMMANDS[name] as Command<unknown, unknown>, call, input)
    if (name === 'deleteRoom') {
      // The tables go as well: nothing of it is left to be paid for.
      this.#engine.forget()
      this.#house.forget()
      this.ctx.blockConcurrencyWhile(async () => {
        await this.ctx.storage.deleteAlarm()
        await this.ctx.storage.deleteAll()
      }).catch(() => {})
    } else {
      this.#house.after(name, call, input, outcome.events)
    }
    return outcome
  }

  #counts ({ token, now }: CallHead): boolean {
    return token === undefined || this.#engine.drive(isLive(token, now))
  }

  /** A token that was minted while the registry could not reach this room is not known here yet. */
  async #askAgain (job: Job): Promise<Outcome<unknown>> {
    const { queue, call } = job
    const known = await registryStub(this.env, queue).tokensFor(call.room)
    const { events } = this.#learn(call.room, known, call.now)
    if (!this.#counts(call)) throw new ReadyroomError('UNAUTHORIZED', 'The token of this call has been revoked or has expired.')
    const { result, events: more } = this.#do(job)
    return { result, events: [...events, ...more] }
  }

  #learn (room: string, tokens: TokenSet, now: number): Outcome<null> {
    if (!this.#engine.isThere) return { result: null, events: [] }
    const head = { actor: { name: 'system', kind: 'system', admin: true }, room, now } as const
    const outcome = this.#engine.run(mirrorTokens, head, tokens)
    this.#house.after('mirrorTokens', head, tokens, outcome.events)
    return outcome
  }
}
