import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import page from '../../plugins/page'
import type { TicketInRoom } from '../../schemas/api'
import type { Ticket, TicketView } from '../../schemas/ticket'

const RECENT_MS = 300_000

export interface PageServerOptions {
  /** Where a reverse proxy shows it, such as `/ready`; the proxy takes the prefix away, as this server does. */
  prefix?: string
  /** Under the prefix inside another Fastify application, which takes nothing away. */
  mounted?: boolean
  token?: string
  /** How GET /api/events answers: a stream, 501 as on the Worker, 500, or not before the test says so. */
  events?: 'live' | 'refused' | 'broken' | 'held'
}

export interface Seen { method: string, url: string, authorization: string | undefined, lastEventId: string | undefined }

type Fields = Partial<TicketView> & { question?: string }

/**
 * The page as it is served, with its policy, over an API in memory whose every move the test makes itself.
 * Its clock is the machine's, plus `skewMs`.
 */
export class PageServer {
  events: NonNullable<PageServerOptions['events']>
  token: string | undefined
  skewMs = 0
  /** POSTs wait for this: a slow network. */
  gate: Promise<void> | undefined
  /** Status that every POST is refused with, once. */
  failNext: number | undefined
  isDown = false
  readonly tickets = new Map<string, TicketView>()
  /** What the rooms know of tickets, by id. */
  readonly inRoom = new Map<string, TicketInRoom>()
  readonly seen: Seen[] = []
  readonly answers: Array<{ id: string, answer: string }> = []
  readonly prefix: string
  origin = ''
  #streams = new Set<ServerResponse>()
  #lookAgain = new Set<() => void>()
  #seq = 0
  #log: Array<{ seq: number, ticket: TicketView }> = []
  #mounted: boolean
  #app = Fastify({ forceCloseConnections: true, rewriteUrl: ({ url = '/' }) => this.#strip(url) })

  constructor ({ prefix = '', mounted = false, token, events = 'live' }: PageServerOptions = {}) {
    this.prefix = prefix
    this.#mounted = mounted
    this.token = token
    this.events = events
  }

  get url (): string { return `${this.origin}${this.prefix}/` }
  get openStreams (): number { return this.#streams.size }

  async listen (): Promise<this> {
    if (this.#mounted) await this.#app.register(async app => this.#serve(app), { prefix: this.prefix })
    else await this.#serve(this.#app)
    await this.#app.listen({ host: '127.0.0.1', port: 0 })
    this.origin = `http://127.0.0.1:${(this.#app.server.address() as AddressInfo).port}`
    return this
  }

  async #serve (app: FastifyInstance): Promise<void> {
    await app.register(page)
    app.addHook('onRequest', async ({ method, raw, headers }, reply) => {
      this.seen.push({ method, url: raw.url ?? '', authorization: headers.authorization, lastEventId: headers['last-event-id'] as string | undefined })
      this.#changed()
      if (this.isDown) return reply.hijack().raw.destroy()
      if (raw.url?.startsWith('/api') && this.token !== undefined && headers.authorization !== `Bearer ${this.token}`) {
        return refuse(reply, 401, 'UNAUTHORIZED', 'A bearer token is required.')
      }
    })
    app.get('/api/tickets', async () => ({ now: this.iso(), tickets: this.#recent().map(ticket => ({ ...shorten(ticket), ...this.inRoom.get(ticket.id) })) }))
    app.get<{ Params: { id: string } }>('/api/tickets/:id', async ({ params }, reply) =>
      this.tickets.get(params.id) ?? refuse(reply, 404, 'TICKET_NOT_FOUND', `There is no ticket ${params.id}.`))
    app.get<{ Querystring: { before?: number, limit?: number } }>('/api/history', async ({ query: { before = Infinity, limit = 50 } }) => {
      const settled = this.#log.filter(({ seq, ticket }) => seq < before && ticket.status !== 'pending' && this.tickets.get(ticket.id) === ticket).reverse()
      const page = settled.slice(0, Number(limit))
      return { tickets: page.map(({ ticket }) => shorten(ticket)), ...(settled.length > page.length && { next: page.at(-1)!.seq }) }
    })
    app.get('/api/events', { exposeHeadRoute: false }, (request, reply) => this.#stream(request.headers['last-event-id'], reply))
    app.post<{ Body: { id: string, answer: string } }>('/api/answer', async ({ body }, reply) => {
      await this.gate
      if (this.failNext !== undefined) return this.#fail(reply)
      const ticket = this.tickets.get(body.id)
      if (!ticket) return refuse(reply, 404, 'TICKET_NOT_FOUND', `There is no ticket ${body.id}.`)
      if (ticket.status !== 'pending') return refuse(reply, 409, 'TICKET_SETTLED', `Ticket ${body.id} is already ${ticket.status}.`, ticket)
      this.answers.push(body)
      return this.answer(body.id, body.answer)
    })
    app.post<{ Body: { id: string } }>('/api/undo', async ({ body }, reply) => {
      await this.gate
      if (this.failNext !== undefined) return this.#fail(reply)
      const ticket = this.tickets.get(body.id)!
      if (ticket.status !== 'answered') return refuse(reply, 409, 'UNDO_WINDOW_PASSED', 'It can no longer be taken back.', ticket)
      const { answer, answered_by: _by, answered_at: _at, ...pending } = ticket
      return this.change({ ...pending, status: 'pending' })
    })
  }

  async close (): Promise<void> { await this.#app.close() }

  /** Resolves once `isTrue` holds: looked at now, and after each request and each stream that opens or ends. */
  async when (isTrue: () => boolean, what: string, deadlineMs = 10_000): Promise<void> {
    if (isTrue()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const look = () => { if (isTrue()) resolve() }
    const timer = setTimeout(() => reject(new Error(`Not within ${deadlineMs} ms: ${what}`)), deadlineMs)
    this.#lookAgain.add(look)
    try {
      await promise
    } finally {
      clearTimeout(timer)
      this.#lookAgain.delete(look)
    }
  }

  #changed (): void { for (const look of this.#lookAgain) look() }

  iso (offsetMs = 0): string { return new Date(Date.now() + this.skewMs + offsetMs).toISOString() }

  /** A new ticket, as an agent enqueues it. Returns its id. */
  enqueue (fields: Fields = {}): string {
    const id = fields.id ?? `t${String(this.tickets.size + 1).padStart(4, '0')}`
    this.change({ stream: 'alpha', question: `Question ${id}?`, urgency: 'normal', status: 'pending', created_at: this.iso(), expires_at: this.iso(1_800_000), rev: 0, ...fields, id })
    return id
  }

  answer (id: string, answer: string): TicketView {
    return this.change({ ...this.tickets.get(id)!, status: 'answered', answer, answered_by: 'human', answered_at: this.iso() })
  }

  cancel (id: string): void {
    this.change({ ...this.tickets.get(id)!, status: 'cancelled', cancelled_at: this.iso() })
  }

  expire (id: string): void {
    const ticket = this.tickets.get(id)!
    const settled = ticket.default_answer === undefined ? {} : { answer: ticket.default_answer, answered_by: 'default' as const, answered_at: this.iso() }
    this.change({ ...ticket, status: 'expired', expires_at: this.iso(), ...settled })
  }

  /** Commits a change and tells every open stream. */
  change (next: TicketView): TicketView {
    const ticket = { ...next, rev: next.rev + 1 }
    this.tickets.set(ticket.id, ticket)
    const entry = { seq: ++this.#seq, ticket }
    this.#log.push(entry)
    for (const stream of this.#streams) stream.write(frame(entry))
    return ticket
  }

  /** The rooms come to know more of a ticket, which every open stream is told. */
  know (id: string, known: TicketInRoom): void {
    this.inRoom.set(id, known)
    this.write(`event: delivery\ndata: ${JSON.stringify({ id, rev: this.tickets.get(id)?.rev ?? 1, ...known })}\n\n`)
  }

  /** Changes the list without a word on the stream. */
  quietly (run: () => void): void {
    const streams = [...this.#streams]
    this.#streams.clear()
    run()
    for (const stream of streams) this.#streams.add(stream)
  }

  dropStreams (): void {
    for (const stream of this.#streams) stream.destroy()
  }

  write (text: string): void {
    for (const stream of this.#streams) stream.write(text)
  }

  #strip (url: string): string {
    if (this.prefix === '' || this.#mounted) return url
    // What is not below the prefix is not ours, as behind a proxy: it must not be found.
    return url === this.prefix || url.startsWith(`${this.prefix}/`) ? url.slice(this.prefix.length) || '/' : `/outside${url}`
  }

  #recent (): TicketView[] {
    const now = Date.now() + this.skewMs
    return [...this.tickets.values()].filter(t => t.status === 'pending' || now - Date.parse(t.cancelled_at ?? t.answered_at ?? t.expires_at) < RECENT_MS)
  }

  #fail (reply: FastifyReply): unknown {
    const status = this.failNext!
    this.failNext = undefined
    return refuse(reply, status, 'STORE_UNAVAILABLE', 'The disk is full: free some space.')
  }

  #stream (lastEventId: string | string[] | undefined, reply: FastifyReply): FastifyReply {
    if (this.events === 'refused') return reply.code(501).type('text/plain').send('No event stream here: poll GET /api/tickets.')
    if (this.events === 'broken') return refuse(reply, 500, 'INTERNAL', 'Something went wrong.')
    reply.hijack()
    if (this.events === 'held') return reply
    const { raw } = reply
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    raw.write(': here\n\n')
    if (typeof lastEventId === 'string') {
      for (const entry of this.#log.filter(({ seq }) => seq > Number(lastEventId))) raw.write(frame(entry))
    }
    this.#streams.add(raw)
    raw.on('close', () => {
      this.#streams.delete(raw)
      this.#changed()
    })
    this.#changed()
    return reply
  }
}

const frame = ({ seq, ticket }: { seq: number, ticket: TicketView }): string => `event: ticket\nid: ${seq}\ndata: ${JSON.stringify(ticket)}\n\n`

const shorten = (ticket: TicketView): TicketView => (ticket.context?.length ?? 0) <= 4_096
  ? ticket
  : { ...ticket, context: ticket.context!.slice(0, 4_096), context_truncated: true }

function refuse (reply: FastifyReply, status: number, error: string, message: string, ticket?: Ticket): FastifyReply {
  return reply.code(status).send({ error, message, ...(ticket && { ticket }) })
}
