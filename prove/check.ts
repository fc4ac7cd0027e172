// Looks at what a daemon shows after it has come back, and at its folder, and compares both with what was promised.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry } from '../schemas/event'
import type { Ticket } from '../schemas/ticket'
import type { Ledger } from './ledger'
import { LogReader } from './log-reader'
import type { Machine } from './machine'

/** How a ticket stands by its last entry. */
interface Stand { ticket: Ticket, seq: number }

/** What an event may follow, and what it leaves. */
const FROM: Record<AuditEntry['event'], [before: Ticket['status'] | undefined, after: Ticket['status']]> = {
  enqueued: [undefined, 'pending'],
  answered: ['pending', 'answered'],
  undone: ['answered', 'pending'],
  cancelled: ['pending', 'cancelled'],
  expired: ['pending', 'expired']
}

const HISTORY_PAGE = 200
const AUDIT_PAGE = 1_000

/** Everything that is known of one state folder. */
export class Check {
  readonly #machine: Machine
  readonly #ledger: Ledger
  readonly #log: LogReader
  readonly #stands = new Map<string, Stand>()
  readonly #settled = new Map<number, Stand>()

  constructor (machine: Machine, ledger: Ledger) {
    this.#machine = machine
    this.#ledger = ledger
    this.#log = new LogReader(machine.stateDir)
  }

  get entries (): number { return this.#log.seq }

  /** The tickets that are pending, for whoever wants to go on with them. */
  pending (): string[] {
    return [...this.#stands.values()].filter(({ ticket }) => ticket.status === 'pending').map(({ ticket }) => ticket.id)
  }

  /** After a start, while nobody sends anything. Returns what is broken. */
  async look (): Promise<string[]> {
    const after = this.#log.seq
    const { entries, broken } = this.#log.read()
    for (const entry of entries) broken.push(...this.#take(entry))
    broken.push(...this.#ledger.settle())
    broken.push(...await this.#compareAudit(after, entries), ...await this.#compareTickets(), ...await this.#compareHistory(1))
    broken.push(...snapshotFaults(this.#machine.stateDir))
    return broken
  }

  /** Everything from the first entry on, by the daemon's own words and by `readyroom audit --verify`. */
  async lookWhole (): Promise<string[]> {
    const broken = await this.#compareHistory(Infinity)
    let after = 0
    for (const once = new Set<number>(); ;) {
      const page = await this.#audit(after)
      for (const { seq } of page) {
        if (once.has(seq) || seq !== after + 1) broken.push(`/api/audit has entry ${seq} behind ${after}`)
        once.add(seq)
        after = seq
      }
      if (page.length === 0) break
    }
    if (after !== this.#log.seq) broken.push(`/api/audit ends at entry ${after}, audit.jsonl at ${this.#log.seq}`)
    const { code, stdout, stderr } = await this.#machine.run(['audit', '--verify', '--head', this.#log.hash])
    if (code !== 0) broken.push(`readyroom audit --verify ended with ${code}: ${stdout} ${stderr}`)
    return broken
  }

  #take (entry: AuditEntry): string[] {
    const { event, id, seq, ticket } = entry
    const [before, after] = FROM[event]
    const was = this.#stands.get(id)
    const broken: string[] = []
    const fits = was?.ticket.status === before && ticket.status === after && ticket.rev === (was?.ticket.rev ?? 0) + 1 && ticket.id === id
    if (!fits) broken.push(`entry ${seq} (${event} ${id}, revision ${ticket.rev}) follows revision ${was?.ticket.rev ?? 0}, ${was?.ticket.status ?? 'no ticket'}`)
    if (was !== undefined) this.#settled.delete(was.seq)
    const stand = { ticket, seq }
    this.#stands.set(id, stand)
    if (ticket.status !== 'pending') this.#settled.set(seq, stand)
    const wrong = this.#ledger.meet(entry)
    if (wrong !== undefined) broken.push(wrong)
    return broken
  }

  async #compareAudit (after: number, entries: AuditEntry[]): Promise<string[]> {
    const shown: AuditEntry[] = []
    // A page may be shorter than asked for; only an empty one is the end.
    for (let seq = after; ;) {
      const page = await this.#audit(seq)
      shown.push(...page)
      if (page.length === 0) break
      seq = page.at(-1)!.seq
    }
    return isDeepStrictEqual(shown, entries) ? [] : [`/api/audit shows ${shown.length} entries behind ${after} where audit.jsonl has ${entries.length}, or others`]
  }

  async #compareTickets (): Promise<string[]> {
    const { tickets } = await this.#get<{ tickets: Ticket[] }>('/api/tickets')
    const broken: string[] = []
    const shown = new Set<string>()
    for (const ticket of tickets) {
      if (shown.has(ticket.id)) broken.push(`/api/tickets shows ${ticket.id} twice`)
      shown.add(ticket.id)
      const stand = this.#stands.get(ticket.id)
      if (!isDeepStrictEqual(ticket, stand?.ticket)) broken.push(`/api/tickets shows ${ticket.id} otherwise than entry ${stand?.seq ?? 'none'} left it`)
    }
    for (const id of this.pending()) if (!shown.has(id)) broken.push(`/api/tickets lacks the pending ticket ${id}`)
    return broken
  }

  async #compareHistory (pages: number): Promise<string[]> {
    const expected = [...this.#settled.values()].sort((a, b) => b.seq - a.seq)
    let compared = 0
    for (let page = 0, before = ''; page < pages; page++) {
      const { tickets, next } = await this.#get<{ tickets: Ticket[], next?: number }>(`/api/history?limit=${HISTORY_PAGE}${before}`)
      const own = expected.slice(compared, compared + HISTORY_PAGE).map(({ ticket }) => ticket)
      if (!isDeepStrictEqual(tickets, own)) return [`/api/history differs from the audit log in the ${tickets.length} tickets behind the first ${compared}`]
      compared += tickets.length
      if (next === undefined) return compared === expected.length ? [] : [`/api/history ends after ${compared} of ${expected.length} settled tickets`]
      before = `&before=${next}`
    }
    return []
  }

  async #audit (after: number): Promise<AuditEntry[]> {
    return (await this.#get<{ entries: AuditEntry[] }>(`/api/audit?after=${after}&limit=${AUDIT_PAGE}`)).entries
  }

  async #get<T> (path: string): Promise<T> {
    const response = await fetch(this.#machine.url + path)
    if (!response.ok) throw new Error(`GET ${path} is ${response.status}: ${await response.text()}`)
    return await response.json() as T
  }
}

/** A snapshot that is there must be whole, at whatever instant its writer was killed. */
export function snapshotFaults (stateDir: string): string[] {
  const path = join(stateDir, 'tickets.json')
  if (!existsSync(path)) return []
  try {
    JSON.parse(readFileSync(path, 'utf8'))
    return []
  } catch (err) {
    return [`tickets.json cannot be parsed: ${String(err)}`]
  }
}
