import { v7 as uuidv7 } from 'uuid'
import { AskHumanInputSchema } from '../schemas/mcp'
import type { EventName } from '../schemas/event'
import type { Ticket } from '../schemas/ticket'
import { ReadyroomError } from './errors'
import type { Decision } from './store'
import { parse } from './validate'

// The only place that knows what may happen to a ticket. Pure but for the making of ids: no clock, no I/O; `now` is in
// milliseconds since 1970.

/** How long an answer can be taken back, counted from the audit entry that gave it, in milliseconds. */
export const UNDO_WINDOW_MS = 5 * 60_000

/** How long a ticket stays open that names no time itself, in seconds. */
export const DEFAULT_TIMEOUT_SECONDS = 1_800

export interface EnqueueInput {
  /** The stream, and where it comes from, are settled before a ticket is made. */
  stream: string
  /** Who asks and in which room, for an agent that holds a token. Taken from the token, never from an argument. */
  asker?: string
  room?: string
  question: string
  options?: readonly string[]
  context?: string
  default_answer?: string
  timeout_seconds?: number
  urgency?: Ticket['urgency']
}

const iso = (ms: number): string => new Date(ms).toISOString()

let lastMs = -1
let sequence = 0

/**
 * A new ticket's id: UUIDv7 (RFC 9562, 5.7), which sorts by time and cannot be guessed. Within one millisecond a counter
 * with a random start keeps those of this process in order (RFC 9562, 6.2).
 */
export function mintId (now: number): string {
  sequence = now === lastMs ? sequence + 1 : crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1
  lastMs = now
  return uuidv7({ msecs: now, seq: sequence })
}

const decide = (ticket: Ticket, event: EventName, actor: string, now: number): Decision =>
  ({ ticket, event: { event, at: iso(now), actor } })

const next = (ticket: Ticket, change: Partial<Ticket>): Ticket => ({ ...ticket, ...change, rev: ticket.rev + 1 })

/** Whether there is nothing in a text that can be seen. */
export const isBlank = (text: string): boolean => !/[^\s\p{Cc}\p{Cf}]/u.test(text)

/** @throws BAD_REQUEST when a stream has control characters or nothing that can be seen. Its length is the schema's matter. */
export function checkStream (stream: string): string {
  if (/\p{Cc}/u.test(stream)) {
    throw new ReadyroomError('BAD_REQUEST', `stream may have no control characters; got ${JSON.stringify(stream)}.`)
  }
  if (isBlank(stream)) {
    throw new ReadyroomError('BAD_REQUEST', `stream must name the agent that asks; got the blank text ${JSON.stringify(stream)}.`)
  }
  return stream
}

/** Some clients send a list as its JSON text, and an empty text for none. Anything else is left for the schema to refuse. */
function readOptions (options: unknown): unknown {
  if (options === '') return undefined
  if (typeof options !== 'string') return options
  try {
    const list: unknown = JSON.parse(options)
    return Array.isArray(list) ? list : options
  } catch { return options }
}

function checkOptions (options: readonly string[] | undefined): string[] | undefined {
  const seen = new Map<string, string>()
  for (const option of options ?? []) {
    if (isBlank(option)) throw new ReadyroomError('BAD_REQUEST', 'options may have no blank entry: the person could not tell what it stands for.')
    const folded = option.normalize('NFC').toUpperCase().toLowerCase()
    const twin = seen.get(folded)
    if (twin !== undefined) {
      throw new ReadyroomError('BAD_REQUEST', `options must differ from each other; ${JSON.stringify(twin)} and ${JSON.stringify(option)} read the same.`)
    }
    seen.set(folded, option)
  }
  return options && [...options]
}

/**
 * What an agent asked, checked and brought into its one form: options as a trimmed list, empty texts left out.
 * @throws BAD_REQUEST naming the field, the limit and what was got.
 */
export function readAsk (args: unknown): EnqueueInput & { stream?: string } {
  const raw = typeof args === 'object' && args !== null && !Array.isArray(args) ? { ...args as Record<string, unknown> } : args
  if (typeof raw === 'object' && raw !== null) {
    const fields = raw as Record<string, unknown>
    const options = readOptions(fields['options'])
    fields['options'] = Array.isArray(options) ? options.map(o => typeof o === 'string' ? o.trim() : o) : options
    for (const name of ['options', 'context', 'default_answer']) {
      if (fields[name] === undefined || fields[name] === '') delete fields[name]
    }
  }
  const input = parse(AskHumanInputSchema, raw, 'ask_human')
  if (isBlank(input.question)) {
    throw new ReadyroomError('BAD_REQUEST', 'question must say what is to be decided; got a blank text.')
  }
  if (input.default_answer !== undefined && isBlank(input.default_answer)) {
    throw new ReadyroomError('BAD_REQUEST', 'default_answer must say something; got a blank text. Leave it out where going on without a person is not safe.')
  }
  checkOptions(input.options)
  if (input.stream !== undefined) checkStream(input.stream)
  return input as EnqueueInput
}

/** A new ticket. `input` has been through readAsk; its stream is known by now. */
export function enqueue (input: EnqueueInput, id: string, now: number): Decision {
  const { timeout_seconds: timeout = DEFAULT_TIMEOUT_SECONDS, urgency = 'normal' } = input
  const ticket: Ticket = {
    id,
    stream: checkStream(input.stream),
    ...(input.room !== undefined && { room: input.room }),
    ...(input.asker !== undefined && { asker: input.asker }),
    question: input.question,
    ...(input.options && { options: [...input.options] }),
    ...(input.context !== undefined && { context: input.context }),
    ...(input.default_answer !== undefined && { default_answer: input.default_answer }),
    urgency,
    status: 'pending',
    created_at: iso(now),
    expires_at: iso(now + Math.round(timeout * 1_000)),
    rev: 1
  }
  return decide(ticket, 'enqueued', ticket.stream, now)
}

/** How a ticket was settled, as the end of a sentence. */
export function describeSettled (ticket: Ticket): string {
  switch (ticket.status) {
    case 'answered': return `is already answered: ${JSON.stringify(ticket.answer)}, at ${ticket.answered_at}`
    case 'cancelled': return `was cancelled at ${ticket.cancelled_at}`
    case 'expired': return ticket.answered_by === 'default'
      ? `expired at ${ticket.expires_at}, and its default answer ${JSON.stringify(ticket.answer)} was applied`
      : `expired at ${ticket.expires_at} without an answer`
    default: return 'is pending'
  }
}

const refuseSettled = (ticket: Ticket): void => {
  if (ticket.status !== 'pending') {
    throw new ReadyroomError('TICKET_SETTLED', `Ticket ${ticket.id} ${describeSettled(ticket)}.`, { ticket })
  }
}

/** @throws TICKET_SETTLED when the ticket is no longer pending. @throws BAD_REQUEST when the answer is blank. */
export function answer (ticket: Ticket, text: string, actor: string, now: number): Decision {
  refuseSettled(ticket)
  if (isBlank(text)) throw new ReadyroomError('BAD_REQUEST', 'answer must say something; got a blank text.')
  const change = { status: 'answered', answer: text, answered_by: 'human', answered_at: iso(now) } as const
  return decide(next(ticket, change), 'answered', actor, now)
}

/** Undefined where it is cancelled already: cancelling twice is fine. @throws TICKET_SETTLED when answered or expired. */
export function cancel (ticket: Ticket, now: number): Decision | undefined {
  if (ticket.status === 'cancelled') return undefined
  refuseSettled(ticket)
  return decide(next(ticket, { status: 'cancelled', cancelled_at: iso(now) }), 'cancelled', ticket.stream, now)
}

export const isDue = (ticket: Ticket, now: number): boolean =>
  ticket.status === 'pending' && now >= Date.parse(ticket.expires_at)

/**
 * Settles a ticket whose time has passed, or undefined. Called on every read and never by a timer alone: a Worker has
 * no process to hold one, and targets that disagree on when a ticket expires would be worse than a few wasted reads.
 * For the same reason a default counts as applied at `expires_at`, whenever it was noticed.
 */
export function expire (ticket: Ticket, now: number): Decision | undefined {
  if (!isDue(ticket, now)) return undefined
  const applied = ticket.default_answer === undefined
    ? {}
    : { answer: ticket.default_answer, answered_by: 'default' as const, answered_at: ticket.expires_at }
  return decide(next(ticket, { status: 'expired', ...applied }), 'expired', 'system', now)
}

/**
 * Takes a person's answer back. The ticket is open for at least five minutes more, so that a default never overrules a
 * person who has just changed their mind.
 * @throws UNDO_WINDOW_PASSED after the window, or when there is no answer to take back.
 * @throws TICKET_SETTLED when no person answered it.
 */
export function undo (ticket: Ticket, actor: string, now: number): Decision {
  if (ticket.status === 'pending') {
    throw new ReadyroomError('UNDO_WINDOW_PASSED', `Ticket ${ticket.id} is pending: there is no answer to undo.`, { ticket })
  }
  if (ticket.status !== 'answered' || ticket.answered_at === undefined) refuseSettled(ticket)
  if (now - Date.parse(ticket.answered_at!) > UNDO_WINDOW_MS) {
    throw new ReadyroomError('UNDO_WINDOW_PASSED',
      `Ticket ${ticket.id} was answered at ${ticket.answered_at}; an answer can be undone for five minutes.`, { ticket })
  }
  const { answer: _answer, answered_by: _by, answered_at: _at, ...open } = ticket
  const expiresAt = Math.max(Date.parse(ticket.expires_at), now + UNDO_WINDOW_MS)
  return decide(next(open, { status: 'pending', expires_at: iso(expiresAt) }), 'undone', actor, now)
}
