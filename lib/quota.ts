import type { Ticket } from '../schemas/ticket'
import { ReadyroomError } from './errors'

/** How much may be pending at once. */
export const QUOTA = { tickets: 10_000, perStream: 500, bytes: 64 * 1_024 * 1_024 } as const

const encoder = new TextEncoder()
const size = (text: string | undefined): number => text === undefined ? 0 : encoder.encode(text).byteLength

/** The UTF-8 bytes of what an agent wrote into a ticket. */
export const textSize = ({ question, options = [], context, default_answer: defaultAnswer }: Ticket): number =>
  size(question) + size(context) + size(defaultAnswer) + options.reduce((sum, option) => sum + size(option), 0)

/**
 * Counts what is pending, tickets on their way into the store included, so that many at once cannot slip past a limit
 * together. A person's undo is counted but never refused.
 */
export class Quota {
  readonly #sizes = new Map<string, { stream: string, bytes: number }>()
  readonly #perStream = new Map<string, number>()
  #bytes = 0

  get tickets (): number { return this.#sizes.size }

  /** Idempotent for one id. */
  add (ticket: Ticket): void {
    if (this.#sizes.has(ticket.id)) return
    const bytes = textSize(ticket)
    this.#sizes.set(ticket.id, { stream: ticket.stream, bytes })
    this.#perStream.set(ticket.stream, (this.#perStream.get(ticket.stream) ?? 0) + 1)
    this.#bytes += bytes
  }

  /** Idempotent for one id. */
  remove (id: string): void {
    const held = this.#sizes.get(id)
    if (held === undefined) return
    this.#sizes.delete(id)
    this.#bytes -= held.bytes
    const left = this.#perStream.get(held.stream)! - 1
    if (left === 0) this.#perStream.delete(held.stream)
    else this.#perStream.set(held.stream, left)
  }

  /** Which limit one more ticket would pass, as a sentence, or undefined where it fits. */
  refusal (ticket: Ticket): string | undefined {
    // A call that is sent again while the first is on its way takes no second place.
    if (this.#sizes.has(ticket.id)) return undefined
    const act = 'Wait for answers, or cancel tickets that are no longer needed.'
    if (this.#sizes.size >= QUOTA.tickets) return `The queue is full: ${QUOTA.tickets} tickets are pending. ${act}`
    if ((this.#perStream.get(ticket.stream) ?? 0) >= QUOTA.perStream) {
      return `The stream ${JSON.stringify(ticket.stream)} is full: ${QUOTA.perStream} of its tickets are pending. ${act}`
    }
    if (this.#bytes + textSize(ticket) > QUOTA.bytes) return `The queue is full: the pending tickets hold 64 MiB of text. ${act}`
    return undefined
  }

  /** @throws QUEUE_FULL when the ticket does not fit; what is pending stays untouched. */
  reserve (ticket: Ticket): void {
    const refusal = this.refusal(ticket)
    if (refusal !== undefined) throw new ReadyroomError('QUEUE_FULL', refusal)
    this.add(ticket)
  }
}
