import type { ToolCall, ToolReply } from '../../schemas/internal'
import type { AgentDesk } from '../desk'
import type { Doors } from '../doors'
import { ReadyroomError } from '../errors'
import type { Link } from './link'
import { runToolCall } from './tool-call'

export interface SeatCallOptions {
  /** Until the answer is there, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/** Where tool calls go now: the desk of this process, or that of the daemon through a link. */
export interface Seat {
  call (call: ToolCall, options: SeatCallOptions): Promise<ToolReply>
  /** The daemon there is ending or has ended: what fails is tried again with the next one. */
  over: boolean
}

export const localSeat = (desk: AgentDesk, doors?: Doors): Seat => ({
  async call (call, { signal }) {
    let written = (): void => {}
    const reply = await runToolCall(desk, call, signal, doors, then => { written = then })
    // This process is the one that the agent reads from: nothing is between it and what it says now.
    written()
    return reply
  },
  over: false
})

export const remoteSeat = (link: Link): Seat => ({
  call: (call, options) => link.call<ToolReply>('POST', '/internal/tool-call', call, options),
  over: false
})

/** Holds the seat there is, and lets calls wait for the next one while there is none. */
export class Seats {
  #seat: Seat | undefined
  #refusal: string | undefined
  readonly #parked = new Set<() => void>()

  get current (): Seat | undefined { return this.#seat }

  take (seat: Seat): void {
    this.#seat = seat
    this.#refusal = undefined
    this.#wake()
  }

  /** The daemon has gone; another is being found. */
  vacate (): void {
    if (this.#seat !== undefined) this.#seat.over = true
    this.#seat = undefined
  }

  /** This process cannot take part for now: calls are refused with the reason rather than parked. */
  refuse (reason: string): void {
    this.#refusal = reason
    this.#wake()
  }

  /**
   * @throws STORE_UNAVAILABLE when there is none in time, or this process cannot take part; the reason of `signal` when
   * that is aborted.
   */
  async next ({ timeoutMs, signal }: SeatCallOptions): Promise<Seat> {
    const end = performance.now() + timeoutMs
    for (;;) {
      signal?.throwIfAborted()
      if (this.#seat !== undefined && !this.#seat.over) return this.#seat
      if (this.#refusal !== undefined) throw new ReadyroomError('STORE_UNAVAILABLE', this.#refusal)
      const left = end - performance.now()
      if (left <= 0) throw new ReadyroomError('STORE_UNAVAILABLE', 'No Ready Room daemon could be reached on this machine.')
      await this.#change(left, signal)
    }
  }

  #change (ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      const wake = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', wake)
        this.#parked.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      signal?.addEventListener('abort', wake, { once: true })
      this.#parked.add(wake)
    })
  }

  #wake (): void {
    for (const wake of [...this.#parked]) wake()
  }
}
