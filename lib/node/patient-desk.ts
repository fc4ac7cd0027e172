import { setTimeout as delay } from 'node:timers/promises'
import type { ToolCall, ToolReply } from '../../schemas/internal'
import type { PendingList } from '../../schemas/mcp'
import type { Ticket } from '../../schemas/ticket'
import type { AgentDesk, WaitOptions } from '../desk'
import { ReadyroomError } from '../errors'
import { mintId, type EnqueueInput } from '../lifecycle'
import { LinkError } from './exchange'
import type { Seat, Seats } from './seat'

/** The longest wait that is asked of a daemon in one go, in milliseconds. */
const SLICE_MS = 20_000
/** How long a call goes on looking for a daemon, in milliseconds: less than the minute that MCP clients give it. */
const PATIENCE_MS = 45_000
/** The stream of an agent that has a token: whoever knows the token says what it is called. */
export const STREAM_OF_TOKEN = ''

/** The longest wait for a change in a room, in milliseconds. */
const CHANGE_MS = 90_000
/** How long past its own end a wait goes on that has not heard of its ticket yet, in milliseconds. */
const GRACE_MS = 4_000
/** How long a daemon may take to say how a ticket stands when a wait for it is given up, in milliseconds: a process that ends has little time. */
const LOOK_MS = 300
/** Between two attempts, in milliseconds. */
const PAUSE_MS = 25

export interface PatientDeskOptions {
  patienceMs?: number
  sliceMs?: number
  /** Whom every call is for, where agents have tokens. */
  agentToken?: string | undefined
}

/**
 * The desk as the agent of this process sees it, whichever process is the daemon, and while it changes. A call that got
 * no answer is sent again to whoever is the daemon then; that is safe because all can be sent twice: an ask because its
 * ticket's id is minted here, a tool of the room because its key is.
 */
export class PatientDesk implements AgentDesk {
  readonly #seats: Seats
  readonly #patienceMs: number
  readonly #sliceMs: number
  readonly #agentToken: string | undefined

  constructor (seats: Seats, { patienceMs = PATIENCE_MS, sliceMs = SLICE_MS, agentToken }: PatientDeskOptions = {}) {
    this.#agentToken = agentToken
    this.#seats = seats
    this.#patienceMs = patienceMs
    this.#sliceMs = sliceMs
  }

  async ask (input: EnqueueInput, id = mintId(Date.now())): Promise<Ticket> {
    const { options, stream, ...rest } = input
    const ask = { ...rest, ...(stream !== STREAM_OF_TOKEN && { stream }), ...(options && { options: [...options] }) }
    return ticketOf(await this.#persist({ tool: 'ask_human', id, ask }, this.#patienceMs))
  }

  async pending (): Promise<PendingList> {
    const { pending } = await this.#persist({ tool: 'list_pending' }, this.#patienceMs)
    if (pending === undefined) throw new Error('The daemon sent no list')
    return pending
  }

  async cancel (id: string): Promise<Ticket> {
    return ticketOf(await this.#persist({ tool: 'cancel_ticket', id }, this.#patienceMs))
  }

  async wait (id: string, { ms, signal }: WaitOptions): Promise<Ticket> {
    const wallEnd = Date.now() + ms
    const start = performance.now()
    const left = (): number => Math.max(0, Math.min(start + ms - performance.now(), wallEnd - Date.now()))
    const patience = (): number => start + Math.max(ms + GRACE_MS, this.#patienceMs) - performance.now()
    let known: Ticket | undefined
    for (;;) {
      const slice = Math.ceil(Math.min(left(), this.#sliceMs))
      const asked = performance.now()
      try {
        const call: ToolCall = { tool: 'wait_for_answer', id, wait_ms: slice }
        known = ticketOf(await this.#persist(call, known === undefined ? patience() : left() + 1_000, signal))
      } catch (err) {
        // How the ticket stood a little ago is a better answer to a wait than that nothing answers now.
        const missed = signal?.aborted || (err instanceof ReadyroomError && err.code === 'STORE_UNAVAILABLE')
        if (known !== undefined && missed) return known
        if (signal?.aborted) known = await this.#look(id)
        if (known !== undefined) return known
        if (signal?.aborted) throw new ReadyroomError('STORE_UNAVAILABLE', 'The wait was given up before Ready Room answered.', { cause: err })
        throw err
      }
      if (known.status !== 'pending' || left() <= 0 || signal?.aborted) return known
      // A daemon that closes answers every wait early; its successor is asked next, after a breath.
      if (performance.now() - asked < slice / 2) await delay(PAUSE_MS)
    }
  }

  /** A tool of the room, for whom the calls of this process are. Its key lets it be sent again, and be done once. */
  async room (call: NonNullable<ToolCall['room_call']>, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<object> {
    const ms = this.#patienceMs + (call.name === 'wait_for_change' ? CHANGE_MS : 0)
    const { room } = await this.#persist({ tool: 'room', room_call: call }, ms, signal)
    if (room === undefined) throw new Error('The daemon sent no result')
    return room
  }

  /** What the calls of this process may do. @throws STORE_UNAVAILABLE after `ms`. @throws UNAUTHORIZED */
  async whoami (ms: number): Promise<NonNullable<ToolReply['whoami']>> {
    const { whoami } = await this.#persist({ tool: 'whoami' }, ms)
    if (whoami === undefined) throw new Error('The daemon did not say who this is')
    return whoami
  }

  /** The ticket as it stands, for whoever ends a wait: it is answered, not dropped. Undefined where nobody says so promptly. */
  async #look (id: string): Promise<Ticket | undefined> {
    try {
      return (await this.#seats.current?.call(this.#signed({ tool: 'wait_for_answer', id, wait_ms: 0 }), { timeoutMs: LOOK_MS }))?.ticket
    } catch { return undefined }
  }

  #signed (call: ToolCall): ToolCall {
    return this.#agentToken === undefined ? call : { ...call, agent_token: this.#agentToken }
  }

  /** Sends a call until a daemon has answered it. @throws STORE_UNAVAILABLE after `ms`; the reason of `signal` */
  async #persist (call: ToolCall, ms: number, signal?: AbortSignal): Promise<ToolReply> {
    const end = performance.now() + ms
    const timeoutMs = (): number => Math.max(1, end - performance.now())
    for (let sent = false; ; sent = true) {
      const seat = await this.#seats.next({ timeoutMs: timeoutMs(), signal }).catch(err => {
        throw err instanceof ReadyroomError ? unreachable(call, sent, err) : err
      })
      try {
        return await seat.call(this.#signed(call), { timeoutMs: timeoutMs(), signal })
      } catch (err) {
        if (!isLost(err, seat)) throw err
        if (performance.now() >= end) throw unreachable(call, true, err)
      }
      await delay(PAUSE_MS, undefined, { ...(signal && { signal }) })
    }
  }
}

/** Whether a call got no answer that counts: from the daemon itself, that is, and not because it was closing. */
const isLost = (err: unknown, seat: Seat): err is Error =>
  err instanceof LinkError || (seat.over && err instanceof ReadyroomError && err.code === 'STORE_UNAVAILABLE')

function ticketOf ({ ticket }: ToolReply): Ticket {
  if (ticket === undefined) throw new Error('The daemon sent no ticket')
  return ticket
}

/** Says what is known to be safe, so that the agent neither gives up nor asks twice. */
function unreachable (call: ToolCall, sent: boolean, cause: Error): ReadyroomError {
  const reason = cause instanceof LinkError ? `The Ready Room daemon does not answer (${cause.message}).` : cause.message
  const outcome = call.tool === 'ask_human' && sent
    ? 'Whether the ticket was enqueued is not known: look with list_pending before you ask again.'
    : call.tool === 'room' && sent
      ? 'Whether this was done is not known: look (read_messages, list_tasks, list_files) before you do it again.'
      : 'Every ticket that was acknowledged is safe; try this call again in a minute.'
  return new ReadyroomError('STORE_UNAVAILABLE', `${reason} ${outcome}`, { cause })
}
