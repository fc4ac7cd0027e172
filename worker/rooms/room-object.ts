import { DurableObject } from 'cloudflare:workers'
import { ReadyroomError } from '../../lib/errors'
import type { Command } from '../../lib/room/call'
import { COMMANDS, type CallHead, type Outcome } from '../../lib/room/store'
import { answering, ObjectEngine, type Answer } from './engine'
import { isLive, mirrorTokens, type TokenSet } from './mirror'
import { registryStub, type Job, type RoomsEnv, type RoomStub } from './objects'

/** One room: its chat, board, files and log, and who holds a token for it. It runs while somebody asks, and sleeps otherwise. */
export class RoomObject extends DurableObject<RoomsEnv> implements RoomStub {
  readonly #engine: ObjectEngine

  constructor (ctx: DurableObjectState, env: RoomsEnv) {
    super(ctx, env)
    this.#engine = new ObjectEngine(ctx.storage)
  }

  /** What comes in order is done in order: nothing is waited for on the way to a command, but where a token is not known. */
  run (job: Job): Promise<Answer<Outcome<unknown>>> {
    return answering(() => {
      const { name, call } = job
      if (name === 'addRoom') this.#engine.make()
      else if (!this.#engine.isThere) throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(call.room)}.`)
      return this.#counts(call) ? this.#do(job) : this.#askAgain(job)
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
      this.ctx.blockConcurrencyWhile(() => this.ctx.storage.deleteAll()).catch(() => {})
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
    return this.#engine.run(mirrorTokens, { actor: { name: 'system', kind: 'system', admin: true }, room, now }, tokens)
  }
}
