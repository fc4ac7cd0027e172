import type { AuditEntry } from '../../schemas/event'
import { applyTickets, appliedThrough, skipTickets } from '../../lib/room/commands/tickets'
import type { Command } from '../../lib/room/call'
import { run, type Steps } from '../../lib/room/steps'
import { db } from '../../lib/room/tables'
import { setValue, valueOf } from './mirror'

const HASH = 'audit_hash'

/** A place in the audit log of the tickets: an entry, and its hash, which says of which log it is. */
export interface Place { seq: number, hash: string }

/** Before the first entry of any log. */
export const NOWHERE: Place = { seq: 0, hash: '' }

export interface Telling {
  /** What became of tickets that concern the room, in order. */
  entries: readonly AuditEntry[]
  /** The last entry that the room has been told of, as far as whoever tells knows. */
  after: Place
  /** When that entry was made, where the room has been told of others since that are in no log any more: it forgets their marks. */
  lost_since?: string
}

/** Either it was told, or nothing was done, and the room says where it stands. */
export type Told = { stands?: Place }

function * standing (): Steps<Place> {
  const { seq } = yield * appliedThrough(NOBODY, {})
  return { seq, hash: (yield * valueOf(HASH)) ?? '' }
}

const NOBODY = { actor: { name: 'system', kind: 'system', admin: true }, room: '', now: 0, events: [] } as const satisfies Parameters<typeof appliedThrough>[0]

/**
 * Applies entries where the room stands at the place behind which they come, and nothing otherwise: either of the two sides may
 * have been taken back to an earlier day, and entries would be passed over, or told twice, without anybody's noticing.
 */
export const applyAfter: Command<Telling, Told> = function * (call, { entries, after, lost_since: lost }) {
  const stands = yield * standing()
  if (lost === undefined && (stands.seq !== after.seq || stands.hash !== after.hash)) return { stands }
  if (lost !== undefined) {
    yield * skipTickets(call, { seq: after.seq, back: true })
    yield * run(db.deleteFrom('deliveries').where('saved_at', '>', lost))
  }
  const last = entries.at(-1)!
  const { seq } = yield * applyTickets(call, { entries })
  // Some of it may be known already, and more than it.
  if (last.seq === seq) yield * setValue(HASH, last.hash)
  return {}
}
