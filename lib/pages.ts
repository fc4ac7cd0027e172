import type { AuditEntry } from '../schemas/event'
import type { Desk } from './desk'
import { textSize } from './quota'

/** How many tickets a page of history has, where the reader does not say. */
export const HISTORY_PAGE = 50

const AUDIT_PAGE = 500

/** Where a page of the audit log ends before its limit, in bytes of what agents and the person wrote. */
const AUDIT_BYTES = 8 * 1_024 * 1_024
const AUDIT_STEP = 20

/** A page may hold fewer entries than were asked for, so that long tickets cost no more memory than short ones. */
export async function auditPage (desk: Desk, after = 0, limit = AUDIT_PAGE): Promise<{ entries: AuditEntry[] }> {
  const entries: AuditEntry[] = []
  for (let bytes = 0; entries.length < limit && bytes < AUDIT_BYTES;) {
    const step = Math.min(AUDIT_STEP, limit - entries.length)
    const next = await desk.since(entries.at(-1)?.seq ?? after, step)
    entries.push(...next)
    if (next.length < step) break
    bytes += next.reduce((sum, { ticket }) => sum + textSize(ticket), 0)
  }
  return { entries }
}
