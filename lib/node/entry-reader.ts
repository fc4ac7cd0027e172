import type { AuditEntry } from '../../schemas/event'
import { checkLine } from '../audit'
import { ReadyroomError } from '../errors'
import type { AuditLog } from './audit-log'
import type { FoundPlace } from './index-db'
import { DamagedLogError, nodeHash } from './replay'
import type { TicketIndex } from './ticket-index'

/** Reads entries by what the index says about them, and never believes it: every line is checked for what was sought. */
export class EntryReader {
  readonly #auditLog: AuditLog
  readonly #index: TicketIndex

  constructor (auditLog: AuditLog, index: TicketIndex) {
    this.#auditLog = auditLog
    this.#index = index
  }

  /**
   * The latest entry of a ticket.
   * @throws STORE_UNAVAILABLE when its line is damaged
   */
  latest (id: string): Promise<AuditEntry | undefined> {
    return this.#seek(() => this.#index.ticket(id), place => this.#at(place, id))
  }

  /**
   * The settling entries below seq `before`, newest first, as of the call.
   * @throws STORE_UNAVAILABLE when a line is damaged
   */
  async settled (before: number, limit: number, known: (id: string, seq: number) => AuditEntry['ticket'] | undefined): Promise<Array<{ seq: number, ticket: AuditEntry['ticket'] }>> {
    const places = this.#index.settled(before, limit)
    const found: Array<{ seq: number, ticket: AuditEntry['ticket'] }> = []
    for (const { id, ...first } of places) {
      const { seq } = first
      // A second look, after the index was made anew, is for the same entry: the ticket may have changed since.
      let place: FoundPlace | undefined = first
      const ticket = known(id, seq) ?? (await this.#seek(() => {
        const now = place ?? this.#index.entry(seq)
        place = undefined
        return now
      }, place => this.#at(place, id)))?.ticket
      if (ticket !== undefined) found.push({ seq, ticket })
    }
    return found
  }

  /**
   * Entries behind `seq`, at most `limit`, as of the call.
   * @throws STORE_UNAVAILABLE when a line is damaged
   */
  async since (seq: number, limit: number): Promise<AuditEntry[]> {
    const { end, head } = this.#auditLog.mark
    if (seq >= head.seq || limit < 1) return []
    return await this.#seek(() => this.#index.entry(seq + 1), place => this.#run(place, end, limit)) ?? []
  }

  // Once more after a line that was not the one sought: either the index is wrong, and then it is no more, or the log is.
  async #seek<T> (find: () => FoundPlace | undefined, read: (place: FoundPlace) => Promise<T | undefined>): Promise<T | undefined> {
    const place = find()
    if (place === undefined) return undefined
    const first = await read(place)
    if (first !== undefined) return first
    try {
      await this.#index.rebuild(this.#auditLog)
    } catch (err) {
      throw this.#damaged(err, place.seq)
    }
    const again = find()
    if (again === undefined) return undefined
    const second = await read(again)
    if (second === undefined) throw this.#damaged(undefined, again.seq)
    return second
  }

  async #at ({ seq, start, end }: FoundPlace, id: string): Promise<AuditEntry | undefined> {
    const { entry } = checkLine(await this.#auditLog.line(start, end), nodeHash)
    return entry?.seq === seq && entry.id === id ? entry : undefined
  }

  async #run ({ seq, start }: FoundPlace, end: number, limit: number): Promise<AuditEntry[] | undefined> {
    const found: AuditEntry[] = []
    for await (const lines of this.#auditLog.lines(start, end)) {
      for (const { text } of lines) {
        const entry = text === undefined ? undefined : checkLine(text, nodeHash).entry
        if (entry?.seq !== seq + found.length) {
          if (found.length === 0) return undefined
          throw this.#damaged(undefined, seq + found.length)
        }
        found.push(entry)
        if (found.length === limit) return found
      }
    }
    return found
  }

  #damaged (cause: unknown, line: number): ReadyroomError {
    const message = cause instanceof DamagedLogError
      ? cause.message
      : `Line ${line} of ${this.#auditLog.path} cannot be read as it was written. Put back a copy of the file from a backup.`
    return new ReadyroomError('STORE_UNAVAILABLE', message, { cause })
  }
}
