import type { RoomEvent, RoomEventKind } from '../../schemas/room'
import { COMMANDS, type CallHead, type CommandName, type InputOf, type OutputOf } from '../../lib/room/store'
import type { Command } from '../../lib/room/call'
import { LOG } from '../log'
import { HEARD_EVERY_MS, heardAt, hereAt, leaseDue, LEFT_MS, roomName, roundDue, setHeard, setSwept, type Keeping } from './due'
import type { ObjectEngine } from './engine'

/** How many rows go in one step. Whoever else needs the room gets it between two steps. */
const STEP = 500
/** How many steps one alarm makes at most; another one goes on. */
const MOST_STEPS = 40
/** How soon a round that failed is made again, in milliseconds. */
const RETRY_MS = 300_000

/** After these a lease may end sooner than was known. */
const LEASES: ReadonlySet<RoomEventKind> = new Set<RoomEventKind>(['task_claimed', 'task_unblocked'])

/** The alarm of an object. */
export interface Alarm {
  getAlarm (): Promise<number | null>
  setAlarm (at: number): Promise<void>
}

/**
 * Does in a room what nobody asks for: ends leases at their time, takes away what the room no longer keeps and files whose time
 * is over, forgets calls that may not be sent again any more, and says who has left. An alarm wakes the object for the first
 * of these; where nothing can become due there is none, and the room costs nothing.
 *
 * An alarm that is set already is moved for what may be due before it, and for nothing else: looking costs rows.
 */
export class Housekeeping {
  readonly #engine: ObjectEngine
  readonly #alarm: Alarm
  readonly #keeping: Keeping
  readonly #heard = new Map<string, number>()
  #next: number | undefined

  constructor (engine: ObjectEngine, alarm: Alarm, keeping: Keeping) {
    this.#engine = engine
    this.#alarm = alarm
    this.#keeping = keeping
  }

  /** Before the first call: when the object will be woken by itself. */
  async wake (): Promise<void> { this.#next = await this.#alarm.getAlarm() ?? undefined }

  /** A command was run. Its alarm is set with what it wrote; where that fails, the command was done all the same. */
  after (name: string, call: CallHead, input: unknown, events: readonly RoomEvent[]): void {
    try {
      this.#look(name, call, input, events)
    } catch (err) {
      LOG.warn({ err }, 'It could not be seen when a room has to be swept; it is looked at again with the next call')
    }
  }

  #look (name: string, call: CallHead, input: unknown, events: readonly RoomEvent[]): void {
    const { actor, now, key } = call
    const isNew = actor.kind !== 'system' && this.#hear(actor.name, now)
    // Without an alarm nothing is known of what is due: that is how a room comes from a release that set none.
    if (this.#next === undefined || events.some(({ kind }) => LEASES.has(kind))) this.#plan(this.#engine.drive(leaseDue()), now)
    const isSoon = this.#next !== undefined && this.#next <= now + LEFT_MS
    const isSooner = name === 'setRetention' || (name === 'putFile' && (input as InputOf<'putFile'>).expires_in_hours !== undefined)
    if (isSooner || (!isSoon && (isNew || key !== undefined || events.length > 0))) this.#plan(this.#roundDue(call), now)
  }

  /** Nothing is there any more. */
  forget (): void {
    this.#heard.clear()
    this.#next = undefined
  }

  /** The alarm has gone off: does what is due by now, and sets the next one. Never rejects, but where that cannot be set. */
  async round (now: number): Promise<void> {
    this.#next = undefined
    try {
      const room = this.#engine.isThere ? this.#engine.drive(roomName()) : undefined
      if (room === undefined) return
      const head: CallHead = { actor: { name: 'system', kind: 'system', admin: true }, room, now }
      this.#run('lapseLeases', head, {})
      const due = this.#roundDue(head)
      const isOver = due === undefined || due > now || await this.#sweep(head)
      // It may have been deleted in between.
      if (!this.#engine.isThere) return
      this.#plan(this.#engine.drive(leaseDue()), now)
      this.#plan(isOver ? this.#roundDue(head) : now, now)
    } catch (err) {
      LOG.warn({ err }, 'A room could not be swept; it is tried again in a few minutes')
      await this.#alarm.setAlarm(now + RETRY_MS)
      this.#next = now + RETRY_MS
    }
  }

  /** Whether everything was done that was to be done. */
  async #sweep (head: CallHead): Promise<boolean> {
    const here = this.#engine.transaction(() => this.#engine.drive(hereAt({ ...head, events: [] })))
    for (const agent of this.#run('leaveSilent', head, { here }).left) this.#heard.delete(agent)
    let steps = 0
    for (const name of this.#keeping.prune ? ['sweepFiles', 'sweepRoom', 'forgetCalls'] as const : ['forgetCalls'] as const) {
      for (;;) {
        if (steps++ === MOST_STEPS) return false
        if (!this.#run(name, head, { limit: STEP }).more) break
        await new Promise(resolve => setTimeout(resolve, 0))
        if (!this.#engine.isThere) return true
      }
    }
    this.#engine.transaction(() => { this.#engine.drive(setSwept(head.now)) })
    return true
  }

  #run<N extends CommandName> (name: N, head: CallHead, input: InputOf<N>): OutputOf<N> {
    return this.#engine.run(COMMANDS[name] as unknown as Command<InputOf<N>, OutputOf<N>>, head, input).result
  }

  #roundDue (head: CallHead): number | undefined {
    return this.#engine.transaction(() => this.#engine.drive(roundDue({ ...head, events: [] }, this.#keeping)))
  }

  /** A sign of life. Says whether it is one to be kept. */
  #hear (agent: string, now: number): boolean {
    const last = this.#heard.get(agent) ?? this.#engine.drive(heardAt(agent))
    if (last !== undefined && now < last + HEARD_EVERY_MS) {
      this.#heard.set(agent, last)
      return false
    }
    this.#engine.drive(setHeard(agent, now))
    this.#heard.set(agent, now)
    return true
  }

  #plan (at: number | undefined, now: number): void {
    if (at === undefined || (this.#next !== undefined && this.#next <= at)) return
    const next = Math.max(at, now)
    this.#next = next
    this.#alarm.setAlarm(next).catch((err: unknown) => {
      if (this.#next === next) this.#next = undefined
      LOG.warn({ err }, 'The alarm of a room could not be set; it is set with the next call')
    })
  }
}
