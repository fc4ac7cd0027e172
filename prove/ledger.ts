import type { AuditEntry } from '../schemas/event'
import type { Outcome } from './commands'

/** A command that was sent: what it asked for, and what became of it. */
export interface Command {
  what: 'ask' | 'answer' | 'undo' | 'cancel'
  /** The question or the answer: no two commands have the same, so that it can be found again. For the others, the ticket's id. */
  key: string
  outcome: Outcome | undefined
  /** The seq of its entry in the audit log. */
  seq: number | undefined
  /** It was not there when somebody looked, after the call was over: it may not come back. */
  gone: boolean
}

const EVENT = { ask: 'enqueued', answer: 'answered', undo: 'undone', cancel: 'cancelled' } as const

const keyOf = ({ event, id, ticket }: AuditEntry): string =>
  `${event} ${event === 'enqueued' ? ticket.question : event === 'answered' ? ticket.answer ?? '' : id}`

/**
 * Remembers every command that was sent and compares what became of it with the audit log, entry by entry. Nothing that
 * has been seen once is looked at again: the chain of hashes says that it is still there.
 */
export class Ledger {
  /** Commands by what their entry would look like; several for the undos of one ticket, which go one after the other. */
  readonly #sent = new Map<string, Command[]>()
  #open: Command[] = []
  readonly counts = { acknowledged: 0, refused: 0, unsaid: 0, unsaidButThere: 0 }

  /** Sends a command and notes what it came to. */
  async send (what: Command['what'], key: string, run: () => Promise<Outcome>): Promise<Outcome> {
    const command: Command = { what, key, outcome: undefined, seq: undefined, gone: false }
    const name = `${EVENT[what]} ${key}`
    const same = this.#sent.get(name)
    if (same === undefined) this.#sent.set(name, [command])
    else same.push(command)
    this.#open.push(command)
    const outcome = await run()
    command.outcome = outcome
    this.counts[outcome.kind]++
    return outcome
  }

  /** Takes in an entry of the audit log. Returns what is wrong with its being there. */
  meet (entry: AuditEntry): string | undefined {
    const { seq, event, id } = entry
    const what = `entry ${seq} (${event} ${id})`
    const same = this.#sent.get(keyOf(entry))
    if (same === undefined) return `${what} is of no command that was sent`
    const command = same.find(({ seq, outcome, gone }) => seq === undefined && !gone && outcome?.kind !== 'refused')
    if (command === undefined) {
      const had = same.map(({ seq, outcome, gone }) => seq !== undefined ? `there as ${seq}` : gone ? 'gone before' : outcome?.kind).join(', ')
      return `${what} is there once too often: ${had}`
    }
    command.seq = seq
    const { outcome } = command
    if (outcome?.kind === 'acknowledged') {
      if (outcome.id !== id) return `${what} was acknowledged as ${outcome.id}`
      if (outcome.rev !== undefined && outcome.rev !== entry.ticket.rev) return `${what} has revision ${entry.ticket.rev}, acknowledged was ${outcome.rev}`
    }
    return undefined
  }

  /**
   * Ends the account of all calls that are over, once every entry has been met. Returns a sentence for each one that was
   * acknowledged and is not there.
   */
  settle (): string[] {
    const broken: string[] = []
    let lost = 0
    const still: Command[] = []
    for (const command of this.#open) {
      const { what, key, outcome, seq } = command
      if (outcome === undefined) {
        still.push(command)
      } else if (seq === undefined) {
        // Where one is lost, many are: some are enough to look for.
        if (outcome.kind === 'acknowledged' && !this.#isCancelledTwice(command) && ++lost <= 5) broken.push(`${what} "${key}" was acknowledged (${outcome.id}) and is lost`)
        command.gone = true
      } else if (outcome.kind === 'refused') {
        broken.push(`${what} "${key}" was refused (${outcome.message}) and is there as entry ${seq}`)
      } else if (outcome.kind === 'unsaid') {
        this.counts.unsaidButThere++
      }
    }
    if (lost > 5) broken.push(`${lost - 5} more that were acknowledged are lost`)
    this.#open = still
    return broken
  }

  /** Taking a ticket back that is taken back already is fine, and changes nothing. */
  #isCancelledTwice ({ what, key }: Command): boolean {
    return what === 'cancel' && this.#sent.get(`${EVENT.cancel} ${key}`)!.some(({ seq }) => seq !== undefined)
  }
}
