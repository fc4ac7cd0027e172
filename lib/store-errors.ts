import type { Ticket } from '../schemas/ticket'
import { ReadyroomError } from './errors'

/** The refusal of a commit that was decided on another revision than the stored one (0: none). */
export function staleWrite ({ id, rev }: Ticket, stored: number): ReadyroomError {
  return new ReadyroomError('STALE_WRITE', `Ticket ${id} is at revision ${stored}, so revision ${rev} does not follow.`)
}

/** The refusal of a commit that comes after `close`. */
export function storeClosed (): ReadyroomError {
  return new ReadyroomError('STORE_UNAVAILABLE', 'Ready Room is shutting down. Nothing was saved; try again in a moment.')
}
