import type { AuditEntry } from '../../schemas/event'
import type { RoomInfo } from '../../schemas/room'
import { ReadyroomError } from '../../lib/errors'
import type { CallHead, CommandName, InputOf, Outcome, OutputOf, RoomStore } from '../../lib/room/store'
import { LOG } from '../log'
import type { Answer } from './engine'
import { KnownTickets } from './known-tickets'
import { Line } from './line'
import { RoomMarks } from './marks'
import { isMissing, type InRoom, type Notes } from './notes'
import type { RegistryStub, RoomStub } from './objects'
import { ToldTickets } from './told-tickets'
import { announceVersion } from './upgrade'

export interface RoomObjectsOptions {
  /** Which Ready Room of the deployment it is. */
  queue: string
  room (name: string): RoomStub
  registry (): RegistryStub
  notes: Notes
  /** Entries of the audit log above `seq`, in order, at most `limit`: for a room that has to be told anew. */
  since (seq: number, limit: number): Promise<AuditEntry[]>
  /** Tasks may wait for tickets that are in no log any more. */
  onLost? (): void
  log?: { warn (details: object, message: string): void }
}

const IN_REGISTRY: ReadonlySet<CommandName> = new Set<CommandName>([
  'initialise', 'loadTokens', 'listTokens', 'mintToken', 'revokeTokens', 'purgeTokens', 'noteTokenUse', 'listRooms'
])

/**
 * The rooms in Durable Objects: one for each room, and one, the registry, for the tokens and the list of rooms. What is
 * about all of them is put together here; how far the tickets have been told to them is kept beside the tickets.
 */
export class RoomObjectsStore implements RoomStore {
  readonly #options: RoomObjectsOptions
  readonly #rooms = new Map<string, Line<RoomStub>>()
  readonly #registry: Line<RegistryStub>
  readonly #told: ToldTickets
  readonly #marks: RoomMarks
  readonly #known: KnownTickets
  #isClosed = false

  constructor (options: RoomObjectsOptions) {
    this.#options = options
    this.#registry = new Line(options.registry)
    const inRoom: InRoom = (name, call, input) => this.#inRoom(name, call, input) as Promise<Outcome<never>>
    const { queue, notes, log = LOG, onLost = () => {} } = options
    this.#told = new ToldTickets({
      inRoom,
      notes,
      log,
      onLost,
      since: (seq, limit) => options.since(seq, limit),
      tell: (call, telling, anew) => this.#changing('applyTickets', call, room => room.tell({ queue, call, telling, anew }))
    })
    this.#marks = new RoomMarks(inRoom, options.notes)
    this.#known = new KnownTickets(inRoom)
  }

  /** Nothing to open: each object opens itself when it is asked. */
  async open (): Promise<void> {}

  async run<N extends CommandName> (name: N, call: CallHead, input: InputOf<N>): Promise<Outcome<OutputOf<N>>> {
    if (this.#isClosed) throw new ReadyroomError('STORE_UNAVAILABLE', 'The rooms are closed.')
    return await this.#route(name, call, input) as Outcome<OutputOf<N>>
  }

  /** @throws BAD_REQUEST always: Cloudflare keeps the copies. */
  async backup (): Promise<void> {
    throw new ReadyroomError('BAD_REQUEST', 'There is no file to copy on a Worker: export each room, or use the point-in-time recovery of its Durable Object.')
  }

  async close (): Promise<void> { this.#isClosed = true }

  async #route (name: CommandName, call: CallHead, input: unknown): Promise<Outcome<unknown>> {
    if (IN_REGISTRY.has(name)) return this.#inRegistry(name, call, input)
    switch (name) {
      case 'appliedThrough': return { result: { seq: this.#told.applied }, events: [] }
      case 'skipTickets': {
        this.#told.skip((input as InputOf<'skipTickets'>).seq)
        return { result: null, events: [] }
      }
      case 'applyTickets': return this.#told.apply(call, (input as InputOf<'applyTickets'>).entries)
      case 'awaitedTickets': return { result: { tickets: await this.#told.awaited(call) }, events: [] }
      case 'noteDeliveries': return this.#marks.note(call, (input as InputOf<'noteDeliveries'>).marks)
      case 'ticketsInRoom': return this.#known.of(call, (input as InputOf<'ticketsInRoom'>).tickets)
      case 'noteVersion': return announceVersion(this.#options.notes, input as InputOf<'noteVersion'>, {
        list: async () => (await this.#inRegistry('listRooms', call, {}) as Outcome<{ rooms: RoomInfo[] }>).result.rooms.map(({ room }) => room),
        tell: (room, input) => this.#inRoom(name, { ...call, room }, input)
      })
      case 'addRoom': return this.#add(call, input)
      case 'deleteRoom': return this.#delete(call, input)
      case 'setRoomInfo':
      case 'setRetention': {
        const outcome = await this.#inRoom(name, call, input) as Outcome<RoomInfo>
        await this.#registry.call(registry => registry.noteRoom(outcome.result))
        return outcome
      }
      case 'createTask':
      case 'updateTask': {
        const { ticket_id: id, of_no_room: roomless } = input as Partial<InputOf<'updateTask'>>
        const run = (): Promise<Outcome<unknown>> => this.#inRoom(name, call, input)
        return id === undefined ? run() : this.#told.waitingIn(call.room, run, roomless === true ? id : undefined)
      }
      default: return this.#inRoom(name, call, input)
    }
  }

  #inRoom (name: CommandName, call: CallHead, input: unknown): Promise<Outcome<unknown>> {
    const { queue } = this.#options
    return this.#changing(name, call, room => room.run({ queue, name, call, input }))
  }

  async #changing<T> (name: CommandName, call: CallHead, send: (room: RoomStub) => Promise<Answer<T>>): Promise<T> {
    this.#known.note(name, call.room)
    try {
      return await this.#line(call.room).call(send)
    } finally {
      this.#known.note(name, call.room)
    }
  }

  #inRegistry (name: CommandName, call: CallHead, input: unknown): Promise<Outcome<unknown>> {
    const { queue } = this.#options
    return this.#registry.call(registry => registry.run({ queue, name, call, input }))
  }

  #line (room: string): Line<RoomStub> {
    let line = this.#rooms.get(room)
    if (line === undefined) this.#rooms.set(room, line = new Line(() => this.#options.room(room)))
    return line
  }

  /** The room first: one that is listed is there. */
  async #add (call: CallHead, input: unknown): Promise<Outcome<unknown>> {
    const outcome = await this.#inRoom('addRoom', call, input)
    const { events } = await this.#inRegistry('addRoom', call, input)
    return { result: outcome.result, events: [...outcome.events, ...events] }
  }

  /** The room first: where it stops in between, the name is listed still and can be deleted again. */
  async #delete (call: CallHead, input: unknown): Promise<Outcome<unknown>> {
    let outcome: Outcome<unknown>
    try {
      outcome = await this.#inRoom('deleteRoom', call, input)
    } catch (err) {
      const { result } = await this.#inRegistry('listRooms', call, {}) as Outcome<{ rooms: RoomInfo[] }>
      if (!isMissing(err) || !result.rooms.some(({ room }) => room === call.room)) throw err
      outcome = { result: { room: call.room, deleted: true }, events: [] }
    }
    await this.#registry.call(registry => registry.forgetRoom(call.room))
    this.#told.forget(call.room)
    this.#rooms.delete(call.room)
    return outcome
  }
}
