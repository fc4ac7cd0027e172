import type { AuditEntry } from '../../schemas/event'
import type { RoomEvent, RoomInfo } from '../../schemas/room'
import { ReadyroomError } from '../../lib/errors'
import { fromAcross } from '../../lib/room/across'
import type { CallHead, CommandName, InputOf, Outcome, OutputOf, RoomStore } from '../../lib/room/store'
import type { Answer } from './engine'
import type { RegistryStub, RoomStub } from './objects'
import { announceVersion } from './upgrade'

/** What the object that uses the rooms keeps of its own: a few values by name, durable like everything else in it. */
export interface Notes {
  get<T> (name: string): T | undefined
  put (name: string, value: unknown): void
}

export interface RoomObjectsOptions {
  /** Which Ready Room of the deployment it is. */
  queue: string
  room (name: string): RoomStub
  registry (): RegistryStub
  notes: Notes
}

const APPLIED = 'rooms:audit_seq'
const WAITING = 'rooms:waiting'

const IN_REGISTRY: ReadonlySet<CommandName> = new Set<CommandName>([
  'initialise', 'loadTokens', 'listTokens', 'mintToken', 'revokeTokens', 'purgeTokens', 'noteTokenUse', 'listRooms'
])

const unreachable = (err: unknown): ReadyroomError => new ReadyroomError('STORE_UNAVAILABLE',
  'The room could not be reached, or was restarted in mid-call. Read it to see whether a change was saved, and try again in a moment.', { cause: err })

/** Keeps a stub, so that what is sent through it arrives in order, until a call through it fails. */
class Line<Stub> {
  readonly #connect: () => Stub
  #stub: Stub | undefined

  constructor (connect: () => Stub) {
    this.#connect = connect
  }

  /** @throws what the other side answers. @throws STORE_UNAVAILABLE where it does not. */
  async call<T> (send: (stub: Stub) => Promise<Answer<T>>): Promise<T> {
    this.#stub ??= this.#connect()
    let answer: Answer<T>
    try {
      answer = await send(this.#stub)
    } catch (err) {
      this.#stub = undefined
      throw unreachable(err)
    }
    if ('error' in answer) throw fromAcross(answer.error)
    return answer.ok
  }
}

/**
 * The rooms in Durable Objects: one for each room, and one, the registry, for the tokens and the list of rooms. What is
 * about all of them is put together here; how far the tickets have been told to them is kept beside the tickets.
 */
export class RoomObjectsStore implements RoomStore {
  readonly #options: RoomObjectsOptions
  readonly #rooms = new Map<string, Line<RoomStub>>()
  readonly #registry: Line<RegistryStub>
  /** Rooms with a command under way that may make a task wait for a ticket. */
  readonly #busy = new Map<string, number>()
  #isClosed = false

  constructor (options: RoomObjectsOptions) {
    this.#options = options
    this.#registry = new Line(options.registry)
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
      case 'appliedThrough': return { result: { seq: this.#applied }, events: [] }
      case 'skipTickets': return this.#skip((input as InputOf<'skipTickets'>).seq)
      case 'applyTickets': return this.#apply(call, (input as InputOf<'applyTickets'>).entries)
      case 'awaitedTickets': return this.#awaited(call)
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
      case 'updateTask': return (input as { ticket_id?: string }).ticket_id === undefined
        ? this.#inRoom(name, call, input)
        : this.#waitingIn(call.room, () => this.#inRoom(name, call, input))
      default: return this.#inRoom(name, call, input)
    }
  }

  #inRoom (name: CommandName, call: CallHead, input: unknown): Promise<Outcome<unknown>> {
    const { queue } = this.#options
    return this.#line(call.room).call(room => room.run({ queue, name, call, input }))
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
      if ((err as { code?: string }).code !== 'ROOM_NOT_FOUND' || !result.rooms.some(({ room }) => room === call.room)) throw err
      outcome = { result: { room: call.room, deleted: true }, events: [] }
    }
    await this.#registry.call(registry => registry.forgetRoom(call.room))
    this.#rooms.delete(call.room)
    return outcome
  }

  get #applied (): number { return this.#options.notes.get<number>(APPLIED) ?? 0 }

  #skip (seq: number): Outcome<null> {
    if (this.#options.notes.get(APPLIED) === undefined) this.#options.notes.put(APPLIED, seq)
    return { result: null, events: [] }
  }

  /** Each room applies its own, and knows how far it has come; what is noted here is what nobody has to be told again. */
  async #apply (call: CallHead, entries: readonly AuditEntry[]): Promise<Outcome<{ seq: number }>> {
    const before = this.#applied
    const byRoom = new Map<string, AuditEntry[]>()
    for (const entry of entries) {
      const { room } = entry.ticket
      if (entry.seq > before && room !== undefined) byRoom.set(room, [...byRoom.get(room) ?? [], entry])
    }
    const events: RoomEvent[] = []
    for (const [room, entries] of byRoom) {
      try {
        const tell = (): Promise<Outcome<unknown>> => this.#inRoom('applyTickets', { ...call, room }, { entries })
        // An answer that is taken back makes a task wait again.
        const outcome = await (entries.some(({ event }) => event === 'undone') ? this.#waitingIn(room, tell) : tell())
        events.push(...outcome.events)
      } catch (err) {
        if ((err as { code?: string }).code !== 'ROOM_NOT_FOUND') throw err
      }
    }
    const seq = Math.max(before, entries.at(-1)?.seq ?? 0)
    if (seq > before) this.#options.notes.put(APPLIED, seq)
    return { result: { seq }, events }
  }

  /** Notes that tasks of a room may wait for tickets, before they do: a crash in between costs a look, and loses nothing. */
  async #waitingIn<T> (room: string, run: () => Promise<T>): Promise<T> {
    const { notes } = this.#options
    const waiting = notes.get<string[]>(WAITING) ?? []
    if (!waiting.includes(room)) notes.put(WAITING, [...waiting, room])
    this.#busy.set(room, (this.#busy.get(room) ?? 0) + 1)
    try {
      return await run()
    } finally {
      this.#busy.set(room, this.#busy.get(room)! - 1)
    }
  }

  /** Asks those rooms only in which tasks may wait: the others sleep on. */
  async #awaited (call: CallHead): Promise<Outcome<OutputOf<'awaitedTickets'>>> {
    const { notes } = this.#options
    const tickets: OutputOf<'awaitedTickets'>['tickets'] = []
    for (const room of notes.get<string[]>(WAITING) ?? []) {
      let found: OutputOf<'awaitedTickets'>['tickets'] = []
      try {
        found = (await this.#inRoom('awaitedTickets', { ...call, room }, {}) as Outcome<OutputOf<'awaitedTickets'>>).result.tickets
      } catch (err) {
        if ((err as { code?: string }).code !== 'ROOM_NOT_FOUND') throw err
      }
      tickets.push(...found)
      if (found.length === 0 && !this.#busy.get(room)) notes.put(WAITING, (notes.get<string[]>(WAITING) ?? []).filter(name => name !== room))
    }
    return { result: { tickets }, events: [] }
  }
}
