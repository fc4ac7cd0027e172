import type { RoomEvent } from '../../schemas/room'
import type { Ticket } from '../../schemas/ticket'
import type { AgentDesk } from '../desk'
import { letEnd } from '../timers'
import type { Carried, DeliveryMark } from './commands/deliveries'

/** How soon a database that could not save is tried again, in milliseconds. */
const RETRY_MS = 1_000
/** How many marks are held for a database that cannot save. Beyond that the oldest are given up: no agent is held up for them. */
const MAX_HELD = 10_000
/** What an agent is told of its tickets; that it enqueued or cancelled one it knows. */
const TOLD: ReadonlySet<string> = new Set(['ticket_answered', 'ticket_undone', 'ticket_expired'])

export interface DeliveryBookOptions {
  /** Saves marks in order, and says of which tickets something new is known. */
  save (marks: readonly DeliveryMark[]): Promise<{ tickets: string[] }>
  /** The wall clock, in milliseconds since 1970. */
  now: () => number
}

/**
 * What became of answers on their way to agents. Nobody waits for it: marks are held here and saved together, in order.
 * A process that dies loses those of its last moment; what was saved of the answer itself is not among them.
 */
export class DeliveryBook {
  readonly #options: DeliveryBookOptions
  readonly #listeners = new Set<(tickets: readonly string[]) => void>()
  /** Agents of whom it is known that they have read all that was delivered to them: most calls change nothing. */
  readonly #upToDate = new Set<string>()
  #held: DeliveryMark[] = []
  #saving: Promise<void> | undefined
  #isSaving = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor (options: DeliveryBookOptions) {
    this.#options = options
  }

  /** For one call of an agent. */
  receipt (asker: string): Receipt { return new Receipt(this, asker) }

  /** Hears of tickets of which something new is known, once it is saved. Returns how to stop listening. A listener must not throw. */
  onChange (listener: (tickets: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** An agent calls: it has read what was delivered to it before. */
  called (asker: string): void {
    if (this.#upToDate.has(asker)) return
    this.#upToDate.add(asker)
    this.#hold([{ kind: 'read', asker, at: this.#at() }])
  }

  /** A response was written. */
  delivered (asker: string, carried: readonly Carried[]): void {
    if (carried.length === 0) return
    const at = this.#at()
    this.#upToDate.delete(asker)
    this.#hold(carried.map(one => ({ kind: 'delivered', asker, at, ...one })))
  }

  /** Resolves when what is known now is saved, or could not be. */
  async settled (): Promise<void> { await this.#saving }

  /** Saves what is held, if that can be. Idempotent. */
  async close (): Promise<void> {
    this.#stop()
    await this.#saving
    if (this.#held.length > 0) await this.#save()
    this.#stop()
  }

  #stop (): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #at (): string { return new Date(this.#options.now()).toISOString() }

  #hold (marks: readonly DeliveryMark[]): void {
    this.#held.push(...marks)
    if (this.#held.length > MAX_HELD) this.#held.splice(0, this.#held.length - MAX_HELD)
    if (this.#timer === undefined && !this.#isSaving) this.#saving = this.#save()
  }

  /** Never rejects. */
  async #save (): Promise<void> {
    this.#isSaving = true
    while (this.#held.length > 0) {
      const marks = this.#held
      this.#held = []
      try {
        const { tickets } = await this.#options.save(marks)
        if (tickets.length > 0) for (const listener of this.#listeners) listener(tickets)
      } catch {
        this.#held = [...marks, ...this.#held]
        this.#timer = setTimeout(() => {
          this.#timer = undefined
          this.#hold([])
        }, RETRY_MS)
        letEnd(this.#timer)
        break
      }
    }
    // Nothing stands between the last look and this: a mark that comes later begins anew.
    this.#isSaving = false
  }
}

/** What the response to one call carries of the caller's own tickets. */
export class Receipt {
  readonly #book: DeliveryBook
  readonly #asker: string
  readonly #carried: Carried[] = []

  constructor (book: DeliveryBook, asker: string) {
    this.#book = book
    this.#asker = asker
  }

  /** The desk, for a call that is noted here. */
  around (desk: AgentDesk): AgentDesk {
    return {
      ask: (input, id) => { this.called(); return desk.ask(input, id) },
      cancel: id => { this.called(); return desk.cancel(id) },
      pending: () => { this.called(); return desk.pending() },
      wait: async (id, options) => {
        this.called()
        const ticket = await desk.wait(id, options)
        this.#carries(ticket)
        return ticket
      }
    }
  }

  called (): void { this.#book.called(this.#asker) }

  /** What a tool of the room answers: of those, `whats_new` is how an agent learns what became of its tickets. */
  result<T extends object> (tool: string, result: T): T {
    if (tool === 'whats_new') {
      for (const { room, kind, ticket_id: id, at } of (result as T & { events: RoomEvent[] }).events) {
        if (TOLD.has(kind) && id !== undefined) this.#carried.push({ room, ticket_id: id, saved_at: at })
      }
    }
    return result
  }

  /** The response was written, whole. */
  written (): void { this.#book.delivered(this.#asker, this.#carried.splice(0)) }

  /** A ticket that was never answered has nothing to deliver. */
  #carries ({ id, rev, room, status }: Ticket): void {
    if (room !== undefined && (status !== 'pending' || rev > 1)) this.#carried.push({ room, ticket_id: id, rev })
  }
}
