import fc from 'fast-check'
import { callKey } from '../../lib/node/proof'
import type { AuditEntry } from '../../schemas/event'
import type { Ticket, TicketView } from '../../schemas/ticket'
import { between, random, type Form, type Proof, type ProofOptions } from '../harness'
import { Daemon } from './daemon'
import { inputs, type Input } from './inputs'
import { faultOf, messagesIn, type Asked } from './judge'
import { Ledger } from './ledger'
import { exchange, hangUp, type Exchange, type Reply } from './wire'

const COUNTS: Record<Form, { open: number, guarded: number }> = { short: { open: 1_200, guarded: 400 }, long: { open: 90_000, guarded: 20_000 } }
const BATCH = 400
const AT_ONCE = 32
/** How many tickets stay pending from one batch to the next. */
const KEPT = 40
const TOKEN = 'a-token-of-the-hostile-run-0123456789'
/** The most that a daemon may have resident after all of it, in MiB. Idle it has about 100. */
const MOST_MIB = 600

/** Sends what nobody should send, to every address and tool, and holds the books against the log after each batch. */
class Fuzz {
  readonly ledger = new Ledger()
  readonly statuses = new Map<number, number>()
  sent = 0
  #daemon: Daemon
  #next: () => number
  #secrets: string[]

  constructor (daemon: Daemon, seed: number) {
    this.#daemon = daemon
    this.#next = random(seed)
    this.#secrets = [daemon.secret, ...(daemon.token === undefined ? [] : [daemon.token])]
  }

  async run (count: number, seed: number, say: (line: string) => void): Promise<void> {
    const { port, origin, token, secret } = this.#daemon
    const arbitrary = inputs({ port, origin, token, callKey: callKey(secret) })
    for (let batch = 0; this.sent < count && this.ledger.broken.length < 20; batch++) {
      const made = fc.sample(arbitrary, { numRuns: Math.min(BATCH, count - this.sent), seed: seed + batch })
      const ids = this.#someIds()
      await atOnce(made.map(input => () => this.#send(withIds(input, ids))))
      await this.#settle()
      if (batch % 20 === 19) say(`${this.sent} sent, ${this.ledger.seq} entries, ${this.#daemon.rss} MiB`)
    }
    await this.#readHistory()
    this.ledger.close()
    if (this.#daemon.peak > MOST_MIB) this.ledger.broken.push(`The daemon had ${this.#daemon.peak} MiB resident, more than ${MOST_MIB}`)
    if (/failed for a reason that nobody foresaw|A tool call failed/.test(this.#daemon.stderr)) this.ledger.broken.push(`The log says: ${this.#daemon.stderr.slice(-2_000)}`)
  }

  async #send (input: Input): Promise<void> {
    this.sent++
    const asked = input.kind === 'http' ? { method: input.method, path: input.path } : undefined
    const found = await exchange(this.#daemon.port, input)
    const trouble = this.#troubleOf(found, asked)
    if (!this.#daemon.isAlive) this.ledger.broken.push(`The daemon ended: ${this.#daemon.stderr.slice(-1_000)}`)
    if (trouble !== undefined) this.ledger.broken.push(`${trouble} after ${show(input)}`)
    if (found.left || found.replies.length === 0) this.ledger.unknown++
    for (const reply of found.replies) this.#note(reply, asked, input)
  }

  #troubleOf (found: Exchange, asked: Asked | undefined): string | undefined {
    if (found.silent) return 'No answer came'
    // Where bytes were spoilt, a connection that is just closed is an answer, too.
    if (found.unreadable !== undefined && found.replies.length === 0) return `What came is no HTTP (${found.unreadable})`
    const fault = found.replies.map(reply => found.left ? undefined : faultOf(reply, asked, this.#secrets)).find(fault => fault !== undefined)
    return fault === undefined ? undefined : `The answer ${fault}: ${found.replies.map(({ status, body }) => `${status} ${body.toString('utf8', 0, 300)}`).join(' | ')}`
  }

  /** What a reply acknowledges. */
  #note (reply: Reply, asked: Asked | undefined, input: Input): void {
    this.statuses.set(reply.status, (this.statuses.get(reply.status) ?? 0) + 1)
    if (reply.status !== 200) return
    let values: unknown[]
    try { values = messagesIn(reply) } catch { return }
    for (const value of values) {
      if (typeof value !== 'object' || value === null) continue
      const { result, ticket, ...rest } = value as { result?: { structuredContent?: Partial<Ticket> }, ticket?: Ticket } & Partial<Ticket>
      const content = result?.structuredContent
      if (content?.id !== undefined && content.status === 'pending' && content.expires_at !== undefined) this.ledger.enqueued.set(content.id, questionOf(input))
      if (content?.id !== undefined && content.status === 'cancelled') this.ledger.cancelled.add(content.id)
      if (ticket?.status === 'cancelled') this.ledger.cancelled.add(ticket.id)
      if (ticket?.rev === 1) this.ledger.enqueued.set(ticket.id, undefined)
      if (rest.rev !== undefined && asked?.method !== 'GET') this.ledger.noteChange(rest as Ticket)
    }
  }

  /** The log, the list and the books agree; then most of what is pending is settled, so that there is room for more. */
  async #settle (): Promise<void> {
    await this.#readLog()
    // Reading expires what is due, and a call that we left may end late: the list counts that nothing came after.
    for (let before = -1; before !== this.ledger.seq;) {
      before = this.ledger.seq
      const { tickets } = await this.#get<{ tickets: TicketView[] }>('/api/tickets')
      await this.#readLog()
      if (before === this.ledger.seq) this.ledger.compareList(tickets)
    }
    const pending = this.ledger.pending
    const over = pending.slice(0, Math.max(0, pending.length - KEPT))
    await atOnce(over.map((id, index) => () => this.#send(index % 3 === 0 ? this.#cancel(id) : this.#answer(id))))
    await this.#readLog()
  }

  async #readLog (): Promise<void> {
    for (;;) {
      const { entries } = await this.#get<{ entries: AuditEntry[] }>(`/api/audit?after=${this.ledger.seq}&limit=1000`)
      if (entries.length === 0) return
      this.ledger.read(entries)
    }
  }

  /** The whole history is what the log says is settled; read again where something came to the log meanwhile. */
  async #readHistory (): Promise<void> {
    for (let before = -1; before !== this.ledger.seq;) {
      before = this.ledger.seq
      const shown: TicketView[] = []
      for (let next: number | undefined, path = '/api/history?limit=200'; ; path = `/api/history?limit=200&before=${next}`) {
        const page = await this.#get<{ tickets: TicketView[], next?: number }>(path)
        shown.push(...page.tickets)
        next = page.next
        if (next === undefined) break
      }
      await this.#readLog()
      if (before !== this.ledger.seq) continue
      this.ledger.compare(shown)
      const settled = this.ledger.latest.size - this.ledger.pending.length
      if (shown.length !== settled) this.ledger.broken.push(`The history shows ${shown.length} settled tickets, the log ${settled}`)
    }
  }

  #someIds (): string[] {
    const all = [...this.ledger.latest.keys()]
    const last = all.slice(-200)
    return Array.from({ length: 10 }, () => last[between(this.#next, 0, last.length - 1)] ?? 'none')
  }

  get #headers (): Record<string, string> {
    const { origin, token } = this.#daemon
    return { origin, 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  }

  #answer (id: string): Input {
    return { kind: 'http', method: 'POST', path: '/api/answer', headers: this.#headers, body: Buffer.from(JSON.stringify({ id, answer: 'done' })) }
  }

  #cancel (id: string): Input {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'cancel_ticket', arguments: { id } } }
    return { kind: 'http', method: 'POST', path: '/mcp/agent', headers: this.#headers, body: Buffer.from(JSON.stringify(message)) }
  }

  async #get<T> (path: string): Promise<T> {
    const response = await fetch(this.#daemon.origin + path, { headers: this.#headers })
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json() as T
  }
}

/** Runs so many at a time. */
async function atOnce (runs: Array<() => Promise<void>>): Promise<void> {
  let index = 0
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (index < runs.length) await runs[index++]!()
  }))
}

const fill = (text: string, ids: readonly string[]): string => text.replace(/@ID(\d)@/g, (_, n: string) => ids[Number(n)]!)

function withIds (input: Input, ids: readonly string[]): Input {
  const bytes = (buffer: Buffer): Buffer => buffer.includes('@ID') ? Buffer.from(fill(buffer.toString('latin1'), ids), 'latin1') : buffer
  if (input.kind === 'http') return { ...input, path: fill(input.path, ids), body: input.body && bytes(input.body) }
  // The length that is told must stay true where it was.
  const end = input.bytes.indexOf('\r\n\r\n') + 4
  const body = bytes(input.bytes.subarray(end))
  const head = bytes(input.bytes.subarray(0, end)).toString('latin1').replace(`content-length: ${input.bytes.length - end}`, `content-length: ${body.length}`)
  return { kind: 'raw', bytes: Buffer.concat([Buffer.from(head, 'latin1'), body]) }
}

/** The question that a call of ask_human carries, where it is one text, told once. */
function questionOf (input: Input): string | undefined {
  if (input.kind === 'raw' || input.body === undefined) return undefined
  try {
    const { params } = JSON.parse(input.body.toString('utf8')) as { params?: { arguments?: { question?: unknown } } }
    const question = params?.arguments?.question
    return typeof question === 'string' ? question : undefined
  } catch { return undefined }
}

const show = (input: Input): string => input.kind === 'raw'
  ? JSON.stringify(input.bytes.toString('latin1', 0, 1_200))
  : `${input.method} ${input.path.slice(0, 200)} ${JSON.stringify(input.headers).slice(0, 600)} ${input.body?.toString('utf8', 0, 600) ?? ''}`

/** Fuzzing of every address and every tool, of a daemon without a token and of one with. */
export async function fuzz ({ form, seed, say }: ProofOptions): Promise<Proof> {
  const figures: Proof['figures'] = []
  const broken: string[] = []
  for (const [name, token, count] of [['without a token', undefined, COUNTS[form].open], ['with a token', TOKEN, COUNTS[form].guarded]] as const) {
    const daemon = await Daemon.start(token === undefined ? {} : { token })
    // Others than those of the run before.
    const own = token === undefined ? seed : seed + 1_000_000
    const run = new Fuzz(daemon, own)
    try {
      await run.run(count, own, say)
    } catch (err) {
      run.ledger.broken.push(`${name}: ${(err as Error).stack}`)
    } finally {
      figures.push(
        [`inputs ${name}; entries; tickets`, `${run.sent}; ${run.ledger.seq}; ${run.ledger.latest.size}`],
        [`answers ${name}`, [...run.statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${times} of ${status}`).join(', ')],
        [`not read ${name}; of them done`, `${run.ledger.unknown}; ${run.ledger.unexplained}`],
        [`memory ${name}, at most`, `${daemon.isAlive ? daemon.peak : '?'} MiB (bound ${MOST_MIB})`])
      hangUp()
      await daemon.stop()
    }
    broken.push(...run.ledger.broken)
  }
  return { figures, broken }
}
