import type { RoomEventKind, TaskStatus } from '../../schemas/room'
import { ReadyroomError } from '../errors'

// The only place that knows what may happen to a task. Pure: no clock and no I/O; `now` is in milliseconds since 1970.

/** What decides over a task; the texts are stored and decide nothing. */
export interface TaskState {
  id: number
  status: TaskStatus
  owner: string | null
  version: number
  ticket_id: string | null
  /** The ticket whose answer freed it: an undo of that answer blocks it again. */
  freed_by: string | null
  lease_seconds: number | null
  lease_until: string | null
}

export interface TaskActor { name: string, admin: boolean }

/** The fields that change, and the event that says so. */
export interface TaskDecision {
  change: Partial<Omit<TaskState, 'id'>>
  event: { kind: RoomEventKind, body?: string }
}

export const MIN_LEASE_SECONDS = 30
export const MAX_LEASE_SECONDS = 86_400

const iso = (ms: number): string => new Date(ms).toISOString()

const decide = (task: TaskState, change: TaskDecision['change'], kind: RoomEventKind, body?: string): TaskDecision =>
  ({ change: { ...change, version: task.version + 1 }, event: { kind, ...(body !== undefined && { body }) } })

/** A lease that begins now, where one was asked for. */
const leaseFrom = (seconds: number | null, now: number): string | null => seconds === null ? null : iso(now + seconds * 1_000)

export const hasLapsed = ({ status, lease_until: until }: TaskState, now: number): boolean =>
  status === 'in_progress' && until !== null && now >= Date.parse(until)

/** A task whose lease is over is anybody's again. Undefined where there is nothing to lapse. Decided when a task is read. */
export function lapse (task: TaskState, now: number): TaskDecision | undefined {
  if (!hasLapsed(task, now)) return undefined
  return decide(task, { status: 'pending', owner: null, lease_seconds: null, lease_until: null }, 'task_lapsed',
    `The lease of ${task.owner} ended at ${task.lease_until}`)
}

/** The lease as it is after its owner has shown a sign of life. Undefined where none runs. */
export const renewed = (task: TaskState, now: number): string | undefined =>
  task.status === 'in_progress' && task.lease_until !== null && !hasLapsed(task, now) ? leaseFrom(task.lease_seconds, now)! : undefined

/** @throws TASK_CHANGED where somebody has changed it since the caller read it. */
export function checkVersion (task: TaskState, expected: number | undefined): void {
  if (expected !== undefined && expected !== task.version) {
    throw new ReadyroomError('TASK_CHANGED', `Task ${task.id} is at version ${task.version} by now, not ${expected}: read how it stands, and decide again.`)
  }
}

/**
 * The one way into `in_progress`.
 * @param unfinished what it depends on and is not done.
 * @throws TASK_NOT_OWNED when somebody else has it. @throws TASK_NOT_READY while something that it depends on is not
 * done, or when it is over.
 */
export function claim (
  task: TaskState, by: TaskActor, now: number, unfinished: readonly number[], leaseSeconds: number | null
): TaskDecision | undefined {
  const { id, owner, status } = task
  if (status === 'done' || status === 'cancelled') {
    throw new ReadyroomError('TASK_NOT_READY', `Task ${id} is ${status}; there is nothing left to claim.`)
  }
  if (owner !== null && owner !== by.name) {
    throw new ReadyroomError('TASK_NOT_OWNED', `Task ${id} is ${owner}'s. Take another one, or ask ${owner} to release it.`)
  }
  if (status === 'blocked' && owner === null) {
    throw new ReadyroomError('TASK_NOT_READY', `Task ${id} is blocked${task.ticket_id === null ? '' : ` on ticket ${task.ticket_id}`}.`)
  }
  if (unfinished.length > 0) {
    throw new ReadyroomError('TASK_NOT_READY', `Task ${id} waits for ${unfinished.map(other => `task ${other}`).join(', ')}, not done yet.`)
  }
  // Claiming twice is fine: the first reply may have been lost.
  if (status === 'in_progress' && (leaseSeconds === null || leaseSeconds === task.lease_seconds)) return undefined
  const lease = leaseSeconds ?? task.lease_seconds
  return decide(task, { status: 'in_progress', owner: by.name, ticket_id: null, lease_seconds: lease, lease_until: leaseFrom(lease, now) }, 'task_claimed')
}

/** @throws TASK_NOT_OWNED unless it is the caller's, or the caller administers the room. */
export function checkOwner (task: TaskState, by: TaskActor): void {
  if (task.owner === by.name || by.admin) return
  throw new ReadyroomError('TASK_NOT_OWNED', task.owner === null
    ? `Task ${task.id} is nobody's: claim it first.`
    : `Task ${task.id} is ${task.owner}'s; only ${task.owner} or an admin changes how it stands.`)
}

/**
 * Changes how a task stands; a claim is another command.
 * @param ticketId the ticket that it waits for, for `blocked`. Whose it is has been checked.
 * @throws TASK_NOT_OWNED. @throws BAD_REQUEST for `in_progress`, and for a ticket with anything but `blocked`.
 */
export function setStatus (task: TaskState, status: TaskStatus, by: TaskActor, ticketId?: string): TaskDecision | undefined {
  if (status === 'in_progress') {
    throw new ReadyroomError('BAD_REQUEST', 'status may not be set to in_progress: claim_task does that, so that one agent alone has a task.')
  }
  if (ticketId !== undefined && status !== 'blocked') throw new ReadyroomError('BAD_REQUEST', 'ticket_id goes with status blocked: it is what the task waits for.')
  checkOwner(task, by)
  if (status === task.status && (status !== 'blocked' || (ticketId ?? null) === task.ticket_id)) return undefined
  switch (status) {
    // Its lease stands still: the owner cannot go on, however alive.
    case 'blocked': return decide(task, { status, ticket_id: ticketId ?? null, freed_by: null, lease_until: null }, 'task_updated',
      ticketId === undefined ? 'blocked' : `blocked on ticket ${ticketId}`)
    case 'pending': return release(task, by)
    default: return decide(task, { status, ticket_id: null, lease_seconds: null, lease_until: null }, 'task_updated', status)
  }
}

/** Hands a task back. Undefined where it is nobody's already. @throws TASK_NOT_OWNED */
export function release (task: TaskState, by: TaskActor, reason?: string): TaskDecision | undefined {
  if (task.status === 'pending' && task.owner === null) return undefined
  checkOwner(task, by)
  return decide(task, { status: 'pending', owner: null, ticket_id: null, lease_seconds: null, lease_until: null }, 'task_released', reason)
}

/** How a ticket ended, as far as the tasks that wait for it are concerned. */
export type TicketOutcome = 'answered' | 'default' | 'expired' | 'cancelled' | 'undone'

/** What a ticket's change means for a task that waits for it, or did. Undefined where how the task stands is not touched. */
export function onTicket (task: TaskState, ticketId: string, outcome: TicketOutcome, now: number): TaskDecision | undefined {
  const waits = task.status === 'blocked' && task.ticket_id === ticketId
  switch (outcome) {
    case 'answered':
    case 'default': {
      if (!waits) return undefined
      const lease = task.owner === null ? null : leaseFrom(task.lease_seconds, now)
      const status = task.owner === null ? 'pending' : 'in_progress'
      return decide(task, { status, ticket_id: null, freed_by: ticketId, lease_until: lease }, 'task_unblocked')
    }
    case 'undone': {
      if (task.freed_by !== ticketId || waits || task.status === 'done' || task.status === 'cancelled') return undefined
      return decide(task, { status: 'blocked', ticket_id: ticketId, freed_by: null, lease_until: null }, 'task_updated',
        `blocked again: the answer to ticket ${ticketId} was taken back`)
    }
    // It stays blocked; a note says why, and its owner decides.
    default: return undefined
  }
}

/** A path from `from` back to `from` along dependencies, or undefined. `next` gives what a task depends on. */
export function cycleOf (from: number, next: (id: number) => readonly number[]): number[] | undefined {
  const seen = new Set<number>()
  const trail: number[] = []
  const visit = (id: number): boolean => {
    trail.push(id)
    for (const other of next(id)) {
      if (other === from) return true
      if (seen.has(other)) continue
      seen.add(other)
      if (visit(other)) return true
    }
    trail.pop()
    return false
  }
  return visit(from) ? [...trail, from] : undefined
}
