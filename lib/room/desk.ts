import type { RoomAgent, RoomEvent } from '../../schemas/room'
import type { Ticket } from '../../schemas/ticket'
import type { AgentDesk } from '../desk'
import { ReadyroomError } from '../errors'
import { callKey } from '../idempotency'
import { mintId, readAsk } from '../lifecycle'
import { may, mayEnter, type Principal } from '../principal'
import { parse } from '../validate'
import type { Actor } from './call'
import { DeliveryBook } from './deliveries'
import { fold } from './names'
import { RoomPresence } from './presence'
import type { CallHead, CommandName, InputOf, OutputOf, RoomStore } from './store'
import { TokenBook } from './token-book'
import { ROOM_TOOLS, UNTRUSTED, type RoomTool } from './tools'

const MAX_WAIT_MS = 90_000
const DEFAULT_WAIT_S = 60
const MAX_FILE_BYTES = 1_024 * 1_024

export interface RoomDeskOptions {
  store: RoomStore
  /** The wall clock, in milliseconds since 1970. */
  now?: () => number
  /** The longest wait for a change, in milliseconds. Unset means 90 s. */
  maxWaitMs?: number | undefined
  /** What one file may hold, in bytes. Unset means 1 MiB. */
  maxFileBytes?: number | undefined
  /** Whether rooms may be deleted by a tool. */
  adminApi?: boolean | undefined
}

export interface RoomCallOptions {
  principal: Principal
  /** The tickets, as this principal may use them. */
  tickets: AgentDesk
  /** Who calls, where no token says so: agents without one are told apart by their streams. */
  stream?: string | undefined
  signal?: AbortSignal | undefined
  /** Of a call that may be sent again: what it changes is changed once, and each time its result is that of the first. */
  key?: string | undefined
}

/** A name for an agent that has no token, made of its stream. */
export function nameOfStream (stream: string): string {
  const name = fold(stream).normalize('NFKD').replace(/[^a-z0-9._-]+/g, '-').replace(/^[^a-z0-9]+/, '').slice(0, 40)
  return name === '' ? 'unnamed' : name
}

const BY_NAME = new Map(ROOM_TOOLS.map(tool => [tool.name, tool]))

/** Where calls meet the rooms: who may, in which room, and who hears of what it changed. */
export class RoomDesk {
  readonly tokens = new TokenBook()
  readonly presence = new RoomPresence()
  readonly deliveries: DeliveryBook
  readonly maxFileBytes: number
  readonly #store: RoomStore
  readonly #now: () => number
  readonly #maxWaitMs: number
  readonly #adminApi: boolean
  readonly #listeners = new Map<string, Set<(event: RoomEvent) => void>>()
  readonly #overhearers = new Set<(event: RoomEvent) => void>()
  readonly #deletion = new Set<(room: string) => void>()
  readonly #closing = new AbortController()
  #opened: Promise<void> | undefined
  #isStoreOpen = false
  /** Commands are run, whatever else is still being done before anybody gets in. */
  #isReady = false

  constructor ({ store, now = Date.now, maxWaitMs = MAX_WAIT_MS, maxFileBytes = MAX_FILE_BYTES, adminApi = false }: RoomDeskOptions) {
    this.#store = store
    this.#now = now
    this.#maxWaitMs = maxWaitMs
    this.#adminApi = adminApi
    this.maxFileBytes = maxFileBytes
    this.deliveries = new DeliveryBook({ now, save: marks => this.run('noteDeliveries', this.system(), { marks }) })
  }

  /** Whether there are rooms yet: they come with the first use. */
  get isOpen (): boolean { return this.#opened !== undefined }

  /** Whether anybody listens to a room. */
  get isWatched (): boolean { return this.#listeners.size > 0 }

  /** Aborts when the desk closes: waits and streams end. */
  get closing (): AbortSignal { return this.#closing.signal }

  /** Called when the rooms are open for the first time, before anybody gets in; again with the next call where it failed. */
  onOpen: () => Promise<void> = async () => {}

  /** Opens the database and learns the tokens. Idempotent. */
  open (): Promise<void> {
    this.#opened ??= this.#open().catch(err => {
      this.#opened = undefined
      throw err
    })
    return this.#opened
  }

  async #open (): Promise<void> {
    // What failed after this is done again; the store is opened once.
    if (!this.#isStoreOpen) await this.#store.open()
    this.#isStoreOpen = true
    this.#isReady = true
    try {
      this.tokens.load((await this.#store.run('loadTokens', this.system(), {})).result)
      await this.onOpen()
    } catch (err) {
      this.#isReady = false
      throw err
    }
  }

  /** Tools that a principal may use. */
  toolsOf (principal: Principal): RoomTool[] {
    return ROOM_TOOLS.filter(({ scope, admin }) => may(principal, scope) && (admin !== true || this.#adminApi))
  }

  /** The server's own hand, in a room or in none. */
  system (room = ''): CallHead {
    return { actor: { name: 'system', kind: 'system', admin: true }, room, now: this.#now() }
  }

  /** Runs a command, and tells whoever listens what it changed. @throws what the command throws */
  async run<N extends CommandName> (name: N, head: CallHead, input: InputOf<N>): Promise<OutputOf<N>> {
    if (!this.#isReady) await this.open()
    const { result, events } = await this.#store.run(name, head, input)
    for (const event of events) {
      for (const listener of this.#listeners.get(event.room) ?? []) listener(event)
      for (const listener of this.#overhearers) listener(event)
    }
    if (name === 'deleteRoom') for (const listener of this.#deletion) listener(head.room)
    return result
  }

  /** Hears of rooms that are deleted. Returns how to stop listening. A listener must not throw. */
  onDeleted (listener: (room: string) => void): () => void {
    this.#deletion.add(listener)
    return () => { this.#deletion.delete(listener) }
  }

  /** Hears of the events of every room, as `subscribe` does of one. Returns how to stop listening. */
  overhear (listener: (event: RoomEvent) => void): () => void {
    this.#overhearers.add(listener)
    return () => { this.#overhearers.delete(listener) }
  }

  /** Hears of every event of a room, in order, once it is durable. Returns how to stop listening. A listener must not throw. */
  subscribe (room: string, listener: (event: RoomEvent) => void): () => void {
    const listeners = this.#listeners.get(room) ?? new Set()
    this.#listeners.set(room, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(room) === listeners) this.#listeners.delete(room)
    }
  }

  /** Which room a call means. @throws FORBIDDEN_ROOM without a grant for it. */
  roomOf (principal: Principal, room: string | undefined): string {
    const wanted = room === undefined ? principal.home : fold(room)
    if (!mayEnter(principal, wanted)) {
      const rooms = principal.rooms === 'all' ? '' : `; it has ${principal.rooms.join(', ')}`
      throw new ReadyroomError('FORBIDDEN_ROOM', `The token of ${principal.name} has no grant for the room ${JSON.stringify(wanted)}${rooms}.`)
    }
    return wanted
  }

  /** @throws BAD_REQUEST where an agent without a token bears the name of one that has one. */
  headOf (principal: Principal, room: string, stream?: string): CallHead {
    let actor: Actor = { name: principal.name, kind: principal.kind, admin: may(principal, 'room:admin') }
    if (principal.kind === 'owner' && stream !== undefined) {
      const name = nameOfStream(stream)
      if (this.tokens.hasName(name)) {
        throw new ReadyroomError('BAD_REQUEST', `The name ${name} belongs to an agent with a token. Set READYROOM_AGENT_TOKEN, or another READYROOM_STREAM.`)
      }
      actor = { name, kind: 'agent', admin: false }
    }
    return { actor, room, now: this.#now(), ...(principal.token !== undefined && { token: principal.token }) }
  }

  /**
   * Lets a principal into a room: the one it names, or its home. The owner's own room is made when it is first entered.
   * @throws BAD_REQUEST, FORBIDDEN_ROOM, STORE_UNAVAILABLE
   */
  async enter (principal: Principal, asked: string | undefined, stream?: string): Promise<CallHead> {
    const room = this.roomOf(principal, asked)
    const head = this.headOf(principal, room, stream)
    await this.open()
    if (principal.kind === 'owner' && room === principal.home) await this.run('addRoom', this.system(room), {})
    return head
  }

  /**
   * Runs a tool of the room.
   * @throws BAD_REQUEST, FORBIDDEN_SCOPE, FORBIDDEN_ROOM, ROOM_NOT_FOUND, STORE_UNAVAILABLE, and what its command throws.
   */
  async call (name: string, args: unknown, options: RoomCallOptions): Promise<object> {
    const { principal, stream, signal, key } = options
    const tool = BY_NAME.get(name)
    if (tool === undefined || (tool.admin === true && !this.#adminApi)) throw new ReadyroomError('NOT_FOUND', `There is no tool ${name}.`)
    if (!may(principal, tool.scope)) {
      throw new ReadyroomError('FORBIDDEN_SCOPE', `${name} needs the scope ${tool.scope}, which the token of ${principal.name} does not have.`)
    }
    const { room: asked, ...input } = parse(tool.inputSchema, args ?? {}, name) as { room?: string } & Record<string, unknown>
    const entered = await this.enter(principal, asked, stream)
    // What only reads reads anew.
    const head = key === undefined || tool.annotations.readOnlyHint
      ? entered
      : { ...entered, key: await callKey(key, entered.actor, entered.room, name, input) }
    this.presence.note(head.room, head.actor.name, head.now)
    const result = await this.#handle(tool, head, input, { ...options, signal })
    return tool.untrusted ? { ...result, untrusted: UNTRUSTED } : result
  }

  async #handle (tool: RoomTool, head: CallHead, input: Record<string, unknown>, options: RoomCallOptions): Promise<object> {
    switch (tool.name) {
      case 'create_task': return this.#createTask(head, input as unknown as InputOf<'createTask'> & { ask?: Record<string, unknown> }, options)
      case 'update_task': return this.#updateTask(head, input as unknown as InputOf<'updateTask'>, options)
      case 'put_file': return this.run('putFile', head, { ...input as unknown as InputOf<'putFile'>, max_bytes: this.maxFileBytes })
      case 'wait_for_change': return this.waitForChange(head, input['timeout_s'] as number | undefined, options)
      case 'list_agents': return this.#listAgents(head)
      default: return await this.run(tool.command!, head, input as never) as object
    }
  }

  /** The ticket's id is made first: a crash between the two leaves a task that says which ticket it misses. */
  async #createTask (head: CallHead, { ask, ...input }: InputOf<'createTask'> & { ask?: Record<string, unknown> }, options: RoomCallOptions): Promise<object> {
    if (ask === undefined) return this.run('createTask', head, input)
    const { tickets, principal, stream = principal.name } = options
    if (!may(principal, 'tickets:ask')) {
      throw new ReadyroomError('FORBIDDEN_SCOPE', `ask needs the scope tickets:ask, which the token of ${principal.name} does not have.`)
    }
    const question = readAsk(ask)
    const task = await this.run('createTask', head, { ...input, ticket_id: mintId(this.#now()) })
    // Sent again, it is the task of the first time, with the ticket of the first time.
    const ticketId = task.ticket_id!
    try {
      // In the room of the task: who answers there sees it, and the answer finds the task again.
      await tickets.ask({ ...question, stream, room: head.room, asker: head.actor.name }, ticketId)
    } catch (err) {
      // Whoever is refused calls again: what is left of this call is nothing to take up.
      const dropped = { task_id: task.id, ticket_id: ticketId, refused: true, ...(head.key !== undefined && { key: head.key }) }
      await this.run('dropTicket', this.system(head.room), dropped)
      throw err
    }
    return task
  }

  async #updateTask (head: CallHead, input: InputOf<'updateTask'>, { tickets, principal }: RoomCallOptions): Promise<object> {
    const { ticket_id: id } = input
    if (id === undefined) return this.run('updateTask', head, input)
    for (;;) {
      const { rev } = await this.#awaitable(head, id, { tickets, principal })
      try {
        return await this.run('updateTask', head, { ...input, ticket_rev: rev })
      } catch (err) {
        // It was settled between the look and the write.
        if (!(err instanceof ReadyroomError) || err.code !== 'STALE_WRITE') throw err
      }
    }
  }

  /** A ticket that a task may wait for. @throws NOT_YOUR_TICKET, TICKET_SETTLED */
  async #awaitable (head: CallHead, id: string, { tickets, principal }: Pick<RoomCallOptions, 'tickets' | 'principal'>): Promise<Ticket> {
    const ticket = await tickets.wait(id, { ms: 0 })
    if (principal.kind !== 'owner' && (ticket.asker !== principal.name || ticket.room !== head.room)) {
      throw new ReadyroomError('NOT_YOUR_TICKET', `A task waits for a ticket of the agent that says so, in the same room; ${id} is none of yours here.`)
    }
    if (ticket.status !== 'pending') {
      throw new ReadyroomError('TICKET_SETTLED', `Ticket ${id} is settled (${ticket.status}): there is nothing left to wait for. Read it with wait_for_answer.`, { ticket })
    }
    return ticket
  }

  /**
   * Resolves when somebody else has done something in the room that the caller has not seen, or the time is over.
   * @throws UNAUTHORIZED and ROOM_NOT_FOUND at once, when the caller's token is revoked or the room deleted meanwhile.
   */
  async waitForChange (
    head: CallHead, seconds: number = DEFAULT_WAIT_S, { signal }: Pick<RoomCallOptions, 'signal'> = {}
  ): Promise<{ changed: boolean, unread: number }> {
    const ms = Math.min(seconds * 1_000, this.#maxWaitMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    const { name } = head.actor
    // That the caller itself has gone is told before its tokens are known to be revoked, and looking would bring it back.
    const isNews = ({ actor, kind, body }: RoomEvent): boolean => actor !== name && !(kind === 'agent_gone' && body === name)
    const stop = this.subscribe(head.room, event => { if (isNews(event)) resolve() })
    let revoked = false
    const stopHearing = [
      this.onDeleted(room => { if (room === head.room) resolve() }),
      this.tokens.onRevoked(ids => {
        if (head.token === undefined || !ids.includes(head.token)) return
        revoked = true
        resolve()
      })
    ]
    const timer = setTimeout(resolve, ms)
    const over = AbortSignal.any([this.closing, ...signal === undefined ? [] : [signal]])
    over.addEventListener('abort', () => { resolve() }, { once: true })
    if (over.aborted) resolve()
    try {
      // Subscribed before it is read, so that nothing falls between.
      const before = await this.run('peek', head, { limit: 1 })
      if (before.unread > 0) return { changed: true, unread: before.unread }
      await promise
      if (revoked) throw new ReadyroomError('UNAUTHORIZED', 'The token was revoked while this was waited for.')
      const { unread } = await this.run('peek', { ...head, now: this.#now() }, { limit: 1 })
      return { changed: unread > 0, unread }
    } finally {
      clearTimeout(timer)
      stop()
      for (const stopOne of stopHearing) stopOne()
    }
  }

  async #listAgents (head: CallHead): Promise<{ agents: RoomAgent[] }> {
    const { agents } = await this.run('members', head, {})
    return { agents: agents.map(agent => ({ ...agent, ...this.presence.statusOf(head.room, agent.name, head.now) })) }
  }

  /** A safe copy of the database, into a file that is not there yet. */
  async backup (file: string): Promise<void> {
    await this.open()
    await this.#store.backup(file)
  }

  /** Ends waits and streams, then the store. Idempotent. */
  async close (): Promise<void> {
    this.#closing.abort()
    await this.#opened?.catch(() => {})
    await this.deliveries.close()
    await this.#store.close()
  }
}
