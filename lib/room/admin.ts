import { ADMIN, type AdminInput, type AdminName, type AdminOutput } from '../../schemas/admin'
import { ReadyroomError } from '../errors'
import { timeOf } from '../iso-time'
import { parse } from '../validate'
import type { RoomDesk } from './desk'
import { exportPage } from './export'
import { fold, readName } from './names'
import { hashOf, newToken } from './token-book'

/** The room that the first agents are put in, where nobody names one. */
export const FIRST_ROOM = 'main'

type Handlers = { [N in AdminName]: (input: AdminInput<N>) => Promise<AdminOutput<N>> }

/** What whoever owns this Ready Room does with identity and rooms, by whichever door. */
export class RoomAdmin {
  readonly #rooms: RoomDesk
  readonly #now: () => number
  readonly #handlers: Handlers

  constructor (rooms: RoomDesk, now: () => number = Date.now) {
    this.#rooms = rooms
    this.#now = now
    this.#handlers = {
      init: () => this.#init(),
      'add-room': ({ room }) => this.#rooms.run('addRoom', this.#rooms.system(readName(room, 'A room')), {}),
      'add-token': input => this.#addToken(input),
      list: input => this.#list(input),
      revoke: input => this.#revoke(input),
      purge: input => this.#rooms.run('purgeTokens', this.#rooms.system(), input),
      retention: ({ room, days }) => this.#rooms.run('setRetention', this.#rooms.system(fold(room)), { days }),
      'delete-room': ({ room, confirm }) => this.#rooms.run('deleteRoom', this.#rooms.system(fold(room)), { confirm: fold(confirm) }),
      alias: input => this.#alias(input),
      export: ({ room, ...input }) => exportPage(this.#rooms, this.#rooms.system(fold(room)), input),
      backup: ({ file }) => this.#backup(file)
    }
  }

  /** @throws BAD_REQUEST, ROOM_NOT_FOUND, STORE_UNAVAILABLE */
  async run<N extends AdminName> (name: N, input: unknown): Promise<AdminOutput<N>> {
    if (!Object.hasOwn(ADMIN, name)) throw new ReadyroomError('BAD_REQUEST', `There is nothing called ${JSON.stringify(name)} to administer.`)
    const handle = this.#handlers[name] as (input: unknown) => Promise<AdminOutput<N>>
    return handle(parse(ADMIN[name].input, input, name))
  }

  async #init (): Promise<AdminOutput<'init'>> {
    const { since } = await this.#rooms.run('initialise', this.#rooms.system(), {})
    this.#rooms.tokens.initialised = true
    const { rooms } = await this.#rooms.run('listRooms', this.#rooms.system(), {})
    const { room } = rooms[0] ?? await this.#rooms.run('addRoom', this.#rooms.system(FIRST_ROOM), {})
    return { since, room }
  }

  async #addToken ({ agent, room, also = [], role = 'agent', all_rooms: everywhere = false, expires_at: end }: AdminInput<'add-token'>): Promise<AdminOutput<'add-token'>> {
    if (!this.#rooms.tokens.initialised) {
      await this.#rooms.open()
      if (!this.#rooms.tokens.initialised) throw new ReadyroomError('BAD_REQUEST', 'Nobody has a token here yet. Begin with `readyroom admin init`.')
    }
    if (end !== undefined && !(timeOf(end) > this.#now())) throw new ReadyroomError('BAD_REQUEST', `expires_at must be a time to come, ISO 8601; got ${JSON.stringify(end)}.`)
    const token = newToken()
    const known = await this.#rooms.run('mintToken', this.#rooms.system(), {
      hash: hashOf(token),
      agent,
      role,
      home: room,
      rooms: also,
      all_rooms: everywhere,
      ...(end !== undefined && { expires_at: new Date(end).toISOString() })
    })
    this.#rooms.tokens.add(known)
    const { hash: _hash, ...view } = known
    return { token, view }
  }

  async #list (input: AdminInput<'list'>): Promise<AdminOutput<'list'>> {
    const { rooms } = await this.#rooms.run('listRooms', this.#rooms.system(), {})
    const { tokens, revoked_hidden: hidden } = await this.#rooms.run('listTokens', this.#rooms.system(), input)
    return { initialised: this.#rooms.tokens.initialised, rooms, tokens, ...(hidden !== undefined && { revoked_hidden: hidden }) }
  }

  async #revoke (input: AdminInput<'revoke'>): Promise<AdminOutput<'revoke'>> {
    if ((input.agent === undefined) === (input.id === undefined)) throw new ReadyroomError('BAD_REQUEST', 'revoke takes either an agent or the id of one token.')
    const { revoked } = await this.#rooms.run('revokeTokens', this.#rooms.system(), input)
    this.#rooms.tokens.revoke(revoked)
    return { revoked }
  }

  async #alias ({ room, alias, agent }: AdminInput<'alias'>): Promise<AdminOutput<'alias'>> {
    await this.#rooms.run('setAlias', this.#rooms.system(fold(room)), {
      alias: readName(alias, 'An alias'), ...(agent !== undefined && { agent: readName(agent, 'An agent') })
    })
    return { done: true }
  }

  async #backup (file: string): Promise<AdminOutput<'backup'>> {
    await this.#rooms.backup(file)
    return { file }
  }
}
