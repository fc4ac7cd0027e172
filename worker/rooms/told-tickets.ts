import type { AuditEntry } from '../../schemas/event'
import type { RoomEvent } from '../../schemas/room'
import type { CallHead, Outcome, OutputOf } from '../../lib/room/store'
import { NOWHERE, type Place, type Telling, type Told } from './history'
import { isMissing, type InRoom, type Notes } from './notes'

const APPLIED = 'rooms:audit_seq'
const WAITING = 'rooms:waiting'
const ROOMLESS = 'rooms:roomless'
const TOLD = 'rooms:told:'
/** How many entries of the audit log are read in one go where a room is told anew. */
const PAGE = 100
/** How long after its end a ticket can still come back, by an undo, with room to spare, in milliseconds. */
const FORGET_MS = 3_600_000

type Awaited = OutputOf<'awaitedTickets'>['tickets']
/** Which rooms have tasks that wait for a ticket of no room, and when it was settled. */
type Roomless = Record<string, { rooms: string[], settled_at?: string }>

/** The last entry that a room was told of, and the first one since it is there. */
interface Noted extends Place { first: number }

/** What a room is told from the log once more: behind `from`, up to and with `to`. For `lost` and `anew` see Telling and TellJob. */
interface Replay { after: Place, from: number, to: number, lost?: string, anew?: boolean }

export interface ToldTicketsOptions {
  inRoom: InRoom
  notes: Notes
  /** Tells one room. @throws ROOM_NOT_FOUND, STORE_UNAVAILABLE */
  tell (call: CallHead, telling: Telling, anew: boolean): Promise<Outcome<Told>>
  /** Entries of the audit log above `seq`, in order, at most `limit`. */
  since (seq: number, limit: number): Promise<AuditEntry[]>
  log: { warn (details: object, message: string): void }
  /** Tasks of a room may wait for tickets that are in no log any more. */
  onLost (): void
}

/**
 * How far the rooms have been told what becomes of tickets, and in which of them somebody waits. It is kept beside the
 * tickets; how far a room has come it knows itself.
 */
export class ToldTickets {
  readonly #options: ToldTicketsOptions
  readonly #notes: Notes
  /** Rooms with a command under way that may make a task wait for a ticket. */
  readonly #busy = new Map<string, number>()

  constructor (options: ToldTicketsOptions) {
    this.#options = options
    this.#notes = options.notes
  }

  get applied (): number { return this.#notes.get<number>(APPLIED) ?? 0 }

  skip (seq: number): void {
    if (this.#notes.get(APPLIED) === undefined) this.#notes.put(APPLIED, seq)
  }

  /** Each room applies its own, and knows how far it has come; what is noted here is what nobody has to be told again. */
  async apply (call: CallHead, entries: readonly AuditEntry[]): Promise<Outcome<{ seq: number }>> {
    const before = this.applied
    const byRoom = new Map<string, AuditEntry[]>()
    for (const entry of entries) {
      if (entry.seq <= before) continue
      for (const room of this.#concerned(entry)) byRoom.set(room, [...byRoom.get(room) ?? [], entry])
    }
    const events: RoomEvent[] = []
    for (const [room, entries] of byRoom) {
      try {
        const tell = (): Promise<RoomEvent[]> => this.#tell({ ...call, room }, entries)
        // An answer that is taken back makes a task wait again.
        events.push(...await (entries.some(({ event }) => event === 'undone') ? this.waitingIn(room, tell) : tell()))
      } catch (err) {
        if (!isMissing(err)) throw err
      }
    }
    this.#forget(entries)
    const seq = Math.max(before, entries.at(-1)?.seq ?? 0)
    if (seq > before) this.#notes.put(APPLIED, seq)
    return { result: { seq }, events }
  }

  /** Notes that tasks of a room may wait for tickets, before they do: a crash in between costs a look, and loses nothing. */
  async waitingIn<T> (room: string, run: () => Promise<T>, roomless?: string): Promise<T> {
    const waiting = this.#waiting
    if (!waiting.includes(room)) this.#notes.put(WAITING, [...waiting, room])
    if (roomless !== undefined) this.#wait(roomless, room)
    this.#busy.set(room, (this.#busy.get(room) ?? 0) + 1)
    try {
      return await run()
    } finally {
      this.#busy.set(room, this.#busy.get(room)! - 1)
    }
  }

  /** Asks those rooms only in which tasks may wait: the others sleep on. */
  async awaited (call: CallHead): Promise<Awaited> {
    const tickets: Awaited = []
    for (const room of this.#waiting) {
      let found: Awaited = []
      try {
        found = (await this.#options.inRoom('awaitedTickets', { ...call, room }, {})).result.tickets
      } catch (err) {
        if (!isMissing(err)) throw err
      }
      tickets.push(...found)
      if (found.length === 0 && !this.#busy.get(room)) this.#notes.put(WAITING, this.#waiting.filter(name => name !== room))
    }
    return tickets
  }

  /** A room is deleted: one of its name that comes later is another one. */
  forget (room: string): void { this.#notes.delete(TOLD + room) }

  /** Tells one room what comes behind what it was told. Either side may stand elsewhere than the other believes. */
  async #tell (call: CallHead, entries: readonly AuditEntry[]): Promise<RoomEvent[]> {
    const { room } = call
    const noted = this.#notes.get<Noted>(TOLD + room)
    const after: Place = noted === undefined ? NOWHERE : { seq: noted.seq, hash: noted.hash }
    const { result: { stands }, events } = await this.#send(call, { entries, after })
    if (stands === undefined) return events
    const { log, onLost } = this.#options
    const to = entries.at(-1)!.seq
    if (await this.#isOurs(stands)) {
      if (stands.seq >= after.seq) return this.#replay(call, { after: stands, from: stands.seq, to })
      log.warn({ room, told: after.seq, stands: stands.seq }, 'A room stands at an earlier day than it has been told of; what became of tickets since is told again')
      return this.#replay(call, { after: stands, anew: true, from: Math.max(stands.seq, noted!.first - 1), to })
    }
    log.warn({ room, stands: stands.seq, told: after.seq },
      'A room has been told of an entry that is not in the audit log, which stands at an earlier day; it is told what comes since. Compare its tasks with the queue')
    const from = noted?.seq ?? this.applied
    const [last] = await this.#options.since(from - 1, 1)
    await this.waitingIn(room, async () => {})
    const told = await this.#replay(call, { after: { ...after, seq: from }, lost: from === 0 ? '' : last?.at ?? '', from, to })
    onLost()
    return told
  }

  /** Whether an entry is in the audit log as it is now. Before such places were kept there was no hash. */
  async #isOurs ({ seq, hash }: Place): Promise<boolean> {
    if (seq === 0) return true
    const [entry] = await this.#options.since(seq - 1, 1)
    return entry?.seq === seq && (hash === '' || entry.hash === hash)
  }

  /** Tells a room everything that concerns it, from one place in the log to another. */
  async #replay (call: CallHead, { after, lost, anew = false, from, to }: Replay): Promise<RoomEvent[]> {
    const events: RoomEvent[] = []
    let place = after
    let isFirst = true
    for (let seq = from; seq < to;) {
      const page = (await this.#options.since(seq, PAGE)).filter(entry => entry.seq <= to)
      if (page.length === 0) break
      seq = page.at(-1)!.seq
      const entries = page.filter(entry => this.#concerned(entry).includes(call.room))
      if (entries.length === 0) continue
      const told = await this.#send(call, { entries, after: place, ...(lost !== undefined && isFirst && { lost_since: lost }) }, anew && isFirst)
      if (told.result.stands !== undefined) throw new Error(`The room ${call.room} moved while it was told anew`)
      events.push(...told.events)
      place = entries.at(-1)!
      isFirst = false
    }
    // Where it has all of it already.
    if (isFirst) this.#note(call.room, place, place.seq)
    return events
  }

  async #send (call: CallHead, telling: Telling, anew = false): Promise<Outcome<Told>> {
    const told = await this.#options.tell(call, telling, anew)
    if (told.result.stands === undefined) this.#note(call.room, telling.entries.at(-1)!, telling.entries[0]!.seq)
    return told
  }

  #note (room: string, { seq, hash }: Place, first: number): void {
    this.#notes.put(TOLD + room, { first: this.#notes.get<Noted>(TOLD + room)?.first ?? first, seq, hash } satisfies Noted)
  }

  get #waiting (): string[] { return this.#notes.get<string[]>(WAITING) ?? [] }

  get #roomless (): Roomless { return this.#notes.get<Roomless>(ROOMLESS) ?? {} }

  /** Rooms that an entry is told to: that of its ticket, or those in which somebody waits for what is in no room. */
  #concerned ({ id, ticket: { room } }: AuditEntry): readonly string[] {
    return room === undefined ? this.#roomless[id]?.rooms ?? [] : [room]
  }

  #wait (ticket: string, room: string): void {
    const { rooms = [] } = this.#roomless[ticket] ?? {}
    this.#notes.put(ROOMLESS, { ...this.#roomless, [ticket]: { rooms: [...new Set([...rooms, room])] } })
  }

  /** Notes which of them are settled, and forgets those that cannot come back any more. */
  #forget (entries: readonly AuditEntry[]): void {
    const roomless = this.#roomless
    const mine = entries.filter(({ id }) => roomless[id] !== undefined)
    if (mine.length === 0) return
    for (const { id, at, ticket: { status } } of mine) {
      const { rooms } = roomless[id]!
      roomless[id] = { rooms, ...(status !== 'pending' && { settled_at: at }) }
    }
    const over = Date.parse(mine.at(-1)!.at) - FORGET_MS
    const kept = Object.entries(roomless).filter(([, { settled_at: at }]) => at === undefined || Date.parse(at) > over)
    this.#notes.put(ROOMLESS, Object.fromEntries(kept))
  }
}
