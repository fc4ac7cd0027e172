import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { AuditEntry } from '../schemas/event'
import type { AuditHead, Decision } from './store'

/**
 * The audit log is a chain: every line carries the hash of the line before it, and its own. A line is checked as the
 * text it is, never as a text made anew from what was read, so that not one byte of it can change unnoticed.
 */

/** SHA-256 of the UTF-8 bytes of a text, in lower-case hex. */
export type TextHash = (text: string) => string

/** `prev` of the first entry. */
export const NO_HASH = '0'.repeat(64)

/** The end of a log in which nothing has been written yet. */
export const EMPTY_HEAD: AuditHead = { seq: 0, hash: NO_HASH, at: undefined }

/** Runs anywhere. A runtime with a faster one of its own passes that instead. */
export const textHash: TextHash = text => bytesToHex(sha256(utf8ToBytes(text)))

/** An entry as the log holds it, and the line (no line break) that says so. */
export interface SealedEntry { entry: AuditEntry, line: string }

/** Where in the log an entry goes: right behind `head`, in the write whose first seq is `batch`. */
export interface Place { head: Pick<AuditHead, 'seq' | 'hash'>, batch: number, instance: string }

/** Gives a decision its place in the log. `hash` is computed over the line without itself. */
export function seal ({ ticket, event }: Decision, { head, batch, instance }: Place, hashOf: TextHash = textHash): SealedEntry {
  // The order of these fields is the order on disk.
  const open: Omit<AuditEntry, 'hash'> = {
    seq: head.seq + 1,
    batch,
    at: event.at,
    event: event.event,
    id: ticket.id,
    stream: ticket.stream,
    actor: event.actor,
    instance,
    ticket,
    prev: head.hash
  }
  const text = JSON.stringify(open)
  const hash = hashOf(text)
  return { entry: { ...open, hash }, line: `${text.slice(0, -1)},"hash":"${hash}"}` }
}

/** A line that holds, or what is wrong with it, as the end of a sentence that begins with "it". */
export type Checked = { entry: AuditEntry, fault?: undefined } | { entry?: undefined, fault: string }

const SEAL = /,"hash":"([0-9a-f]{64})"\}$/

/** Whether a line is whole in itself: JSON, the right fields, its own hash. Says nothing about its place. */
export function checkLine (line: string, hashOf: TextHash = textHash): Checked {
  const seal = SEAL.exec(line.slice(-75))
  if (seal === null) return { fault: line === '' ? 'is empty' : 'does not end in its hash' }
  if (hashOf(`${line.slice(0, -75)}}`) !== seal[1]) return { fault: 'does not match its own hash' }
  let entry: unknown
  try {
    entry = JSON.parse(line)
  } catch {
    return { fault: 'is not JSON' }
  }
  return isEntry(entry) ? { entry } : { fault: 'lacks a field that every entry has' }
}

/** Whether a line is whole and follows `head`: the next seq, and the chain unbroken. */
export function checkNext (line: string, head: Pick<AuditHead, 'seq' | 'hash'>, hashOf: TextHash = textHash): Checked {
  const checked = checkLine(line, hashOf)
  if (checked.entry === undefined) return checked
  const { seq, prev } = checked.entry
  if (seq !== head.seq + 1) return { fault: `carries seq ${seq} where ${head.seq + 1} follows` }
  if (prev !== head.hash) return { fault: 'does not name the hash of the line before it' }
  return checked
}

/** The head of a log whose last entry this is. */
export function headAt ({ seq, hash, at }: AuditEntry): AuditHead {
  return { seq, hash, at }
}

function isEntry (value: unknown): value is AuditEntry {
  if (typeof value !== 'object' || value === null) return false
  const { seq, batch, at, event, id, ticket, prev } = value as Record<string, unknown>
  if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(batch) || (batch as number) > (seq as number)) return false
  if (![at, event, id, prev].every(field => typeof field === 'string')) return false
  if (typeof ticket !== 'object' || ticket === null) return false
  const { id: ticketId, rev, status } = ticket as Record<string, unknown>
  return ticketId === id && Number.isSafeInteger(rev) && typeof status === 'string'
}
