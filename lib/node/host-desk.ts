import { EventEmitter } from 'node:events'
import { AnswerBodySchema, UndoBodySchema } from '../../schemas/api'
import type { AuditEntry, EventName } from '../../schemas/event'
import type { AskHumanInput, PendingList } from '../../schemas/mcp'
import type { Ticket } from '../../schemas/ticket'
import type { Desk } from '../desk'
import type { Doors } from '../doors'
import { ReadyroomError } from '../errors'
import { readAsk } from '../lifecycle'
import { copyEntry } from '../live-tickets'
import type { Presence } from '../presence'
import { OWNER } from '../principal'
import { parse } from '../validate'

/** What listeners get: the ticket after the change, and the entry of the audit log that says so. */
export type HostEvents = Record<EventName | 'change', [ticket: Ticket, entry: AuditEntry]>

export interface HostWaitOptions {
  /** Ends the wait: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** How long at most, in milliseconds, 0 or more. Left out, until the ticket is settled. */
  timeoutMs?: number | undefined
}

export interface HostDeskOptions {
  desk: Desk
  presence: Presence
  doors?: Doors | undefined
  /** Who asks, where `ask` does not say. */
  stream?: string | undefined
  log: { error (fields: object, message: string): void }
}

const NO_STREAM = 'No stream: say who asks, either with the stream field of ask() or with the stream option of the plugin.'

/**
 * The desk, as the code of a host application has it: checked like a tool call, and with the same refusals. It is an
 * emitter of what was committed: `enqueued`, `answered`, `undone`, `expired`, `cancelled`, and `change` for each of them.
 */
export class HostDesk extends EventEmitter<HostEvents> {
  /** @internal */
  readonly desk: Desk
  /** @internal */
  readonly presence: Presence
  /** @internal */
  readonly doors: Doors | undefined
  readonly #stream: string | undefined
  readonly #log: HostDeskOptions['log']

  /** @internal */
  constructor ({ desk, presence, doors, stream, log }: HostDeskOptions) {
    super()
    this.desk = desk
    this.presence = presence
    this.doors = doors
    this.#stream = stream
    this.#log = log
    desk.subscribe(entry => { this.#tell(entry) })
  }

  /**
   * Enqueues a ticket and resolves with it once it is durable; it never waits for the person. The rules, limits and
   * defaults are those of the tool `ask_human`.
   * @throws ReadyroomError BAD_REQUEST, QUEUE_FULL, STORE_UNAVAILABLE
   */
  async ask (input: AskHumanInput): Promise<Ticket> {
    const { stream = this.#stream, ...rest } = readAsk(input)
    if (stream === undefined) throw new ReadyroomError('BAD_REQUEST', NO_STREAM)
    return this.desk.ask({ ...rest, stream })
  }

  /**
   * The ticket once it is settled: answered, expired or cancelled. It is still pending where the time was over first, or
   * where the application closes. `answered_by` tells a person's answer from a default that nobody has seen.
   * @throws ReadyroomError TICKET_NOT_FOUND, BAD_REQUEST; the reason of the signal where that aborts first
   */
  async wait (id: string, { signal, timeoutMs = Infinity }: HostWaitOptions = {}): Promise<Ticket> {
    if (!(timeoutMs >= 0)) throw new ReadyroomError('BAD_REQUEST', `timeoutMs must be a number of milliseconds, 0 or more; got ${String(timeoutMs)}.`)
    signal?.throwIfAborted()
    const ticket = await this.desk.wait(idOf(id), { ms: timeoutMs, signal })
    if (ticket.status === 'pending') signal?.throwIfAborted()
    return ticket
  }

  /** One ticket, whole, as it now is. @throws ReadyroomError TICKET_NOT_FOUND, BAD_REQUEST */
  async get (id: string): Promise<Ticket> {
    return this.desk.get(idOf(id))
  }

  /** What is pending across every stream, oldest first, as `list_pending` shows it: 200 tickets at most, long contexts cut. */
  async pending (): Promise<PendingList> {
    return this.desk.pending()
  }

  /** Takes a ticket back; twice is fine. @throws ReadyroomError TICKET_NOT_FOUND, TICKET_SETTLED, BAD_REQUEST, STORE_UNAVAILABLE */
  async cancel (id: string): Promise<Ticket> {
    return this.desk.cancel(idOf(id))
  }

  /**
   * Answers as the person, and agents are told that a person did: only for what one has said elsewhere, in a chat or a
   * form of the host. `by` is a label for them in the audit log, 80 characters at most.
   * @throws ReadyroomError TICKET_NOT_FOUND, TICKET_SETTLED, BAD_REQUEST, STORE_UNAVAILABLE
   */
  async answer (id: string, answer: string, { by }: { by?: string | undefined } = {}): Promise<Ticket> {
    const body = parse(AnswerBodySchema, { id, answer, ...(by !== undefined && { answered_by: by }) }, 'answer')
    return this.desk.answer(body.id, body.answer, OWNER, body.answered_by)
  }

  /** Takes a person's answer back, within five minutes. @throws ReadyroomError TICKET_NOT_FOUND, TICKET_SETTLED, UNDO_WINDOW_PASSED, BAD_REQUEST */
  async undo (id: string): Promise<Ticket> {
    return this.desk.undo(idOf(id), OWNER)
  }

  /** What is committed stays so: a listener that fails is logged, and neither the call nor the other listeners notice. */
  #tell (entry: AuditEntry): void {
    for (const name of [entry.event, 'change'] as const) {
      for (const listener of this.rawListeners(name)) {
        const fail = (err: unknown): void => { this.#log.error({ err, event: name, id: entry.id }, 'A listener of the host application failed') }
        const own = copyEntry(entry)
        try {
          const done: unknown = Reflect.apply(listener, this, [own.ticket, own])
          if (done instanceof Promise) done.catch(fail)
        } catch (err) {
          fail(err)
        }
      }
    }
  }
}

const idOf = (id: string): string => parse(UndoBodySchema, { id }, 'the call').id
