import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Ticket } from '../../schemas/ticket'
import type { TicketRecord } from '../live-tickets'
import type { LogMark } from './audit-log'
import type { Disk } from './disk'
import { errorCode } from './disk-error'
import { readLines } from './lines'

/**
 * `tickets.json`: the live tickets as of one place in the audit log, so that a start reads only what came after. It is
 * one JSON object, with a ticket a line, so that neither side ever holds it as one text:
 *
 *     {"version":1,"seq":2,"hash":"...","at":"...","offset":900,"count":1,"tickets":[
 *     {"seq":2,"at":"...","ticket":{...}}
 *     ],"sha256":"<of every byte before this line>"}
 */
export const SNAPSHOT_FILE = 'tickets.json'

const VERSION = 1
const CHUNK = 256 * 1024

export interface Snapshot { mark: LogMark, records: TicketRecord[] }

/** What is there cannot be used; the message says why. */
export class DamagedSnapshotError extends Error {
  override readonly name = 'DamagedSnapshotError'
}

/** Puts a snapshot in the place of the last one, or leaves that untouched and throws. Resolves with its size in bytes. */
export async function writeSnapshot (disk: Disk, dir: string, { mark: { head, end }, records }: Snapshot): Promise<number> {
  const path = join(dir, SNAPSHOT_FILE)
  const temporary = `${path}.tmp`
  await disk.remove(temporary)
  const file = await disk.open(temporary, 'create')
  let size = 0
  try {
    const digest = createHash('sha256')
    let pending = ''
    const flush = async (): Promise<void> => {
      const data = Buffer.from(pending)
      pending = ''
      digest.update(data)
      await file.write(data, size)
      size += data.length
    }
    const { seq, hash, at } = head
    const first = JSON.stringify({ version: VERSION, seq, hash, at, offset: end, count: records.length })
    pending = `${first.slice(0, -1)},"tickets":[\n`
    for (const [i, { seq, at, ticket }] of records.entries()) {
      pending += `${JSON.stringify({ seq, at, ticket })}${i < records.length - 1 ? ',' : ''}\n`
      if (pending.length >= CHUNK) await flush()
    }
    await flush()
    const last = Buffer.from(`],"sha256":"${digest.digest('hex')}"}\n`)
    await file.write(last, size)
    size += last.length
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(temporary, path)
  await disk.syncFolder(dir)
  return size
}

/**
 * The snapshot, or undefined where there is none.
 * @throws DamagedSnapshotError
 */
export async function readSnapshot (disk: Disk, dir: string): Promise<Snapshot | undefined> {
  let file
  try {
    file = await disk.open(join(dir, SNAPSHOT_FILE), 'read')
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined
    throw err
  }
  try {
    const digest = createHash('sha256')
    const records: TicketRecord[] = []
    let first: { mark: LogMark, count: number } | undefined
    let sealed = false
    for await (const lines of readLines(file, 0, await file.size())) {
      for (const { text } of lines) {
        if (text === undefined || sealed) throw new DamagedSnapshotError('it holds something that was never written there')
        if (text.startsWith(']')) {
          sealed = text === `],"sha256":"${digest.digest('hex')}"}`
          if (!sealed) throw new DamagedSnapshotError('it does not match its checksum')
          continue
        }
        digest.update(`${text}\n`)
        if (first === undefined) first = parseFirst(text)
        else records.push(parse(text.endsWith(',') ? text.slice(0, -1) : text) as unknown as TicketRecord)
      }
    }
    if (first === undefined || !sealed || first.count !== records.length) throw new DamagedSnapshotError('its end is missing')
    return { mark: first.mark, records: records.map(({ seq, at, ticket }) => ({ seq, at, ticket: ticket as Ticket })) }
  } finally {
    await file.close()
  }
}

function parseFirst (text: string): { mark: LogMark, count: number } {
  const { version, seq, hash, at, offset, count } = parse(`${text}]}`)
  if (version !== VERSION) throw new DamagedSnapshotError(`it is of version ${JSON.stringify(version)}, not ${VERSION}`)
  if (![seq, offset, count].every(Number.isSafeInteger) || typeof hash !== 'string' || (at !== undefined && typeof at !== 'string')) {
    throw new DamagedSnapshotError('its first line is not what is written there')
  }
  return { mark: { head: { seq: seq as number, hash, at }, end: offset as number }, count: count as number }
}

function parse (text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Not JSON, and not an object, are one and the same fault.
  }
  throw new DamagedSnapshotError('it is not JSON')
}
