import type { Desk } from '../desk'
import { ReadyroomError } from '../errors'
import { letEnd } from '../timers'
import type { RoomDesk } from './desk'

/** How many entries of the audit log are applied in one go. */
const PAGE = 100
/** How soon a database that could not save is tried again, in milliseconds. */
const RETRY_MS = 1_000
/** The longest a timer may be set for, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

function byTimer (ms: number, look: () => void): () => void {
  const timer = setTimeout(look, ms)
  letEnd(timer)
  return () => { clearTimeout(timer) }
}

export interface TicketJoinerOptions {
  desk: Desk
  rooms: RoomDesk
  log: { warn (details: object, message: string): void }
  /** Arranges a later look, in milliseconds, and returns how to take it back. Left out, a timer of this process. */
  later?: ((ms: number, look: () => void) => () => void) | undefined
}

/**
 * Brings what becomes of tickets into the rooms: each entry of the audit log once, in order, from where the rooms' own
 * database says that it is. A crash between the two loses nothing, since the next start goes on from there.
 *
 * While a task waits for a ticket there is one timer, for the next expiry; whoever reads a ticket expires it all the same.
 */
export class TicketJoiner {
  readonly #desk: Desk
  readonly #rooms: RoomDesk
  readonly #log: TicketJoinerOptions['log']
  #stops: Array<() => void> = []
  readonly #later: NonNullable<TicketJoinerOptions['later']>
  #takeBack: () => void = () => {}
  #under: Promise<void> = Promise.resolve()
  #applied = 0
  #running = false
  #again = false
  #closed = false

  constructor ({ desk, rooms, log, later = byTimer }: TicketJoinerOptions) {
    this.#desk = desk
    this.#rooms = rooms
    this.#log = log
    this.#later = later
  }

  /** Resolves when everything that was in the audit log is in the rooms. */
  async start (): Promise<void> {
    const system = this.#rooms.system()
    const { seq } = this.#desk.head()
    await this.#rooms.run('skipTickets', system, { seq })
    this.#applied = (await this.#rooms.run('appliedThrough', system, {})).seq
    if (this.#applied > seq) await this.#goBack(seq)
    this.#stops = [
      this.#desk.subscribe(() => { this.#catchUp() }),
      // A task begins to wait for a ticket that is there already: nothing is to be applied, and yet it may be due.
      this.#rooms.feed.overhear(({ kind, ticket_id: id }) => { if (kind === 'task_updated' && id !== undefined) this.#catchUp() })
    ]
    this.#catchUp()
    await this.#under
    await this.#mend()
  }

  /** Looks, as at a start, at the tasks that wait: what they wait for may be gone. Begins when what is under way is over. */
  mend (): void {
    this.#under = this.#under.then(() => this.#closed ? undefined : this.#mend()).catch((err: unknown) => {
      this.#log.warn({ err }, 'Tasks that wait for tickets could not be looked at; it is done at the next start')
    })
  }

  /** The log is an older copy than the rooms have read. Waiting until it is as long again would pass over as many tickets in silence. */
  async #goBack (seq: number): Promise<void> {
    this.#log.warn({ applied: this.#applied, head: seq },
      `The rooms have been told of ${this.#applied} entries of the audit log, and it has ${seq}: it is an older copy. What comes from now on is told; compare tasks that wait for a ticket with the queue.`)
    await this.#rooms.run('skipTickets', this.#rooms.system(), { seq, back: true })
    this.#applied = seq
  }

  /** Resolves when what is in the audit log now is in the rooms, unless their database cannot save. */
  settled (): Promise<void> { return this.#under }

  async close (): Promise<void> {
    this.#closed = true
    for (const stop of this.#stops) stop()
    this.#takeBack()
    await this.#under
  }

  #catchUp (): void {
    if (this.#running) this.#again = true
    else this.#under = this.#apply()
  }

  async #apply (): Promise<void> {
    this.#running = true
    try {
      do {
        this.#again = false
        while (!this.#closed && this.#applied < this.#desk.head().seq) {
          const entries = await this.#desk.since(this.#applied, PAGE)
          if (entries.length === 0) break
          // Bare answers and contexts stay where they are: the rooms keep what they show.
          this.#applied = (await this.#rooms.run('applyTickets', this.#rooms.system(), { entries })).seq
        }
        // Within the loop: what comes while this is looked up is applied, too.
        await this.#arm()
      } while (this.#again)
    } catch (err) {
      if (this.#closed) return
      this.#log.warn({ err }, 'What became of tickets could not be told to the rooms; it will be, when their database can save')
      this.#setTimer(RETRY_MS, () => { this.#catchUp() })
    } finally {
      this.#running = false
    }
  }

  /** One timer, for the next ticket that expires, while somebody waits for one. */
  async #arm (): Promise<void> {
    this.#takeBack()
    const { tickets } = await this.#rooms.run('awaitedTickets', this.#rooms.system(), {})
    if (tickets.length === 0 && !this.#rooms.feed.isWatched) return
    const due = this.#desk.untilNextExpiry()
    if (due === undefined) return
    this.#setTimer(due, () => {
      this.#desk.expireDue().finally(() => { this.#catchUp() })
    })
  }

  #setTimer (ms: number, then: () => void): void {
    if (this.#closed) return
    this.#takeBack()
    this.#takeBack = this.#later(Math.min(Math.max(ms, 10), MAX_TIMER_MS), then)
  }

  /** Tasks that wait for a ticket that was never enqueued, as after a crash between the two, or whose end they were not told of. */
  async #mend (): Promise<void> {
    const { tickets } = await this.#rooms.run('awaitedTickets', this.#rooms.system(), {})
    for (const { room, task_id: taskId, ticket_id: ticketId } of tickets) {
      try {
        const ticket = await this.#desk.get(ticketId)
        if (ticket.status !== 'pending') await this.#rooms.run('endWait', this.#rooms.system(room), { ticket })
      } catch (err) {
        if (!(err instanceof ReadyroomError) || err.code !== 'TICKET_NOT_FOUND') throw err
        await this.#rooms.run('dropTicket', this.#rooms.system(room), { task_id: taskId, ticket_id: ticketId })
      }
    }
  }
}
