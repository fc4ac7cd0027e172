// Agents that ask and take back, people who answer and undo, all at once.
import { type AgentDoor, type Outcome, person } from './commands'
import { between } from './harness'
import type { Ledger } from './ledger'
import type { Machine } from './machine'

/** Above so many tickets that wait for somebody, agents rather take back than ask. */
const POOL = 120

export interface LoadOptions {
  machine: Machine
  ledger: Ledger
  next: () => number
  doors: readonly AgentDoor[]
  people: number
  /** Tickets that are pending at the start. */
  pending: string[]
  /** Sets the questions and answers of this round apart from those of all others. */
  round: string
  /** Hears how every call came out. */
  heard?: (outcome: Outcome) => void
  /** Whether everybody goes on though they are refused, or get no answer: a disk that is not well may get well. */
  persistent?: boolean
}

/** How long those who are refused take breath, in milliseconds. */
const BREATH_MS = 20

/** What everybody does until told to stop, or until nobody answers them any more. */
export class Load {
  readonly #options: LoadOptions
  /** Pending tickets that nobody is at. */
  readonly #pool: string[]
  readonly #done: Promise<unknown>
  #number = 0
  #stopping = false

  constructor (options: LoadOptions) {
    this.#options = options
    this.#pool = [...options.pending]
    this.#done = Promise.all([
      ...options.doors.map(door => this.#agent(door)),
      ...Array.from({ length: options.people }, () => this.#person())
    ])
  }

  /** Resolves when every call under way has come to its end. */
  async stop (): Promise<void> {
    this.#stopping = true
    await this.#done
  }

  /** Resolves when everybody has stopped by themselves, because nobody answers. */
  get over (): Promise<unknown> { return this.#done }

  async #agent (door: AgentDoor): Promise<void> {
    const { next, ledger } = this.#options
    while (!this.#stopping) {
      if (this.#pool.length > POOL || (this.#pool.length > 0 && next() < 0.2)) {
        const id = this.#draw()
        if (id === undefined) continue
        if (!await this.#goesOn(await ledger.send('cancel', id, () => door.cancel(id)))) return
        continue
      }
      const question = this.#text('q')
      const context = next() < 0.3 ? 'c'.repeat(between(next, 1, 3_000)) : undefined
      const outcome = await ledger.send('ask', question, () => door.ask(question, context))
      if (!await this.#goesOn(outcome)) return
      if (outcome.kind === 'acknowledged') this.#pool.push(outcome.id)
    }
  }

  async #person (): Promise<void> {
    const { next, machine } = this.#options
    const page = person(machine)
    while (!this.#stopping) {
      const id = this.#draw()
      if (id === undefined) {
        // Somebody asks in a moment; to spin would starve them.
        await new Promise(resolve => { setImmediate(resolve) })
        if (this.#options.doors.length === 0) return
        continue
      }
      // Two people at once: one wins, the other is told.
      const rivals = next() < 0.1 ? 2 : 1
      const outcomes = await Promise.all(Array.from({ length: rivals }, () => this.#answer(page, id)))
      if (!(await Promise.all(outcomes.map(outcome => this.#goesOn(outcome)))).every(Boolean)) return
      if (rivals > 1 || next() > 0.3 || outcomes[0]!.kind !== 'acknowledged') continue
      const undone = await this.#options.ledger.send('undo', id, () => page.undo(id))
      if (!await this.#goesOn(undone)) return
      if (undone.kind === 'acknowledged') this.#pool.push(id)
    }
  }

  #answer (page: ReturnType<typeof person>, id: string): Promise<Outcome> {
    const text = this.#text('a')
    return this.#options.ledger.send('answer', text, () => page.answer(id, text))
  }

  #draw (): string | undefined {
    if (this.#pool.length === 0) return undefined
    return this.#pool.splice(Math.floor(this.#options.next() * this.#pool.length), 1)[0]
  }

  #text (kind: string): string {
    return `${kind} ${this.#options.round}-${this.#number++}`
  }

  /** Whether there is somebody to go on with. */
  async #goesOn (outcome: Outcome): Promise<boolean> {
    const { heard, persistent = false } = this.#options
    heard?.(outcome)
    if (outcome.kind === 'acknowledged' || (outcome.kind === 'refused' && outcome.code.startsWith('TICKET_'))) return true
    if (persistent) await new Promise(resolve => { setTimeout(resolve, BREATH_MS) })
    return persistent
  }
}
