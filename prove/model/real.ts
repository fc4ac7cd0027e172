import { strict } from 'tcompare'
import { checkNext, EMPTY_HEAD, headAt } from '../../lib/audit'
import { Desk } from '../../lib/desk'
import { ReadyroomError } from '../../lib/errors'
import type { TicketStore } from '../../lib/store'
import type { AuditEntry } from '../../schemas/event'
import type { Fact, Outcome, QueueModel } from './queue'

/** How a queue is made anew, empty and loaded, on a clock of the test's. */
export interface Made {
  store: TicketStore
  /** Closes the store and opens another on what it kept; undefined where nothing outlives it. */
  reopen?: (() => Promise<TicketStore>) | undefined
  /** Called at the end, however it ended. */
  drop: () => Promise<void>
}

export type Make = (now: () => number) => Promise<Made>

/** A desk on the store under test, and what has been heard of it. */
export class Real {
  readonly clock: { ms: number }
  readonly made: Made
  store: TicketStore
  desk!: Desk
  readonly heard: Fact[] = []
  /** How many facts have been compared. */
  seen = 0

  private constructor (clock: { ms: number }, made: Made) {
    this.clock = clock
    this.made = made
    this.store = made.store
  }

  static async open (start: number, make: Make): Promise<Real> {
    const clock = { ms: start }
    const real = new Real(clock, await make(() => clock.ms))
    await real.#openDesk()
    return real
  }

  /** Another process, as far as the queue can tell. */
  async reopen (): Promise<void> {
    if (this.made.reopen === undefined) return
    this.desk.close()
    this.store = await this.made.reopen()
    await this.#openDesk()
  }

  /** What the log holds beyond what has been compared. */
  async news (): Promise<Fact[]> {
    return (await this.store.since(this.seen, 1_000_000)).map(factOf)
  }

  /** The log, the head and what was published are the model's facts, and the log is one chain. */
  async settle (model: QueueModel): Promise<void> {
    agree('the log', model.facts.slice(this.seen), await this.news())
    agree('what was published', model.facts.slice(this.seen), this.heard.slice(this.seen))
    agree('the head', { seq: model.facts.length, at: model.facts.at(-1)?.at }, { seq: this.store.head().seq, at: this.store.head().at })
    this.seen = model.facts.length
  }

  /** Every line once more, from the start: each follows the one before it. */
  async audit (): Promise<void> {
    let head = EMPTY_HEAD
    for (const entry of await this.store.since(0, 1_000_000)) {
      const { hash, ...open } = entry
      const { fault } = checkNext(`${JSON.stringify(open).slice(0, -1)},"hash":"${hash}"}`, head)
      if (fault !== undefined) throw new Error(`Line ${entry.seq} ${fault}`)
      head = headAt(entry)
    }
    agree('the head of the chain', head, this.store.head())
  }

  async #openDesk (): Promise<void> {
    this.desk = await new Desk(this.store, { now: () => this.clock.ms }).open()
    this.desk.subscribe(entry => { this.heard.push(factOf(entry)) })
  }
}

export const factOf = ({ seq, at, event, id, stream, actor, ticket }: AuditEntry): Fact => ({ seq, at, event, id, stream, actor, ticket })

/** A refusal is told by its code, and by the ticket that it shows. Anything else that was thrown is thrown on. */
export async function outcomeOf (promise: Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await promise }
  } catch (err) {
    if (!(err instanceof ReadyroomError)) throw err
    return { refused: err.code, ...(err.ticket !== undefined && { ticket: err.ticket }) }
  }
}

/** @throws Error with the difference, where there is one. */
export function agree (what: string, wanted: unknown, found: unknown): void {
  // Nearly always they are the same in every letter, which is told much faster.
  if (JSON.stringify(found) === JSON.stringify(wanted)) return
  const { match, diff } = strict(found, wanted)
  if (!match) throw new Error(`${what} differs from the model (+ is what was found)\n${diff}`)
}

export function permutations<T> (from: readonly T[]): T[][] {
  if (from.length <= 1) return [[...from]]
  return from.flatMap((first, index) => permutations(from.toSpliced(index, 1)).map(rest => [first, ...rest]))
}
