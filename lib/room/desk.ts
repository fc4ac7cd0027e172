import type { RoomAgent } from '../../schemas/room'
import type { AgentDesk } from '../desk'
import { ReadyroomError } from '../errors'
import { callKey } from '../idempotency'
import { may, mayEnter, type Principal } from '../principal'
import { parse } from '../validate'
import type { Actor } from './call'
import { DeliveryBook } from './deliveries'
import { RoomFeed } from './feed'
import { fold, nameOfStream } from './names'
import { RoomPresence } from './presence'
import type { CallHead, CommandName, InputOf, OutputOf, RoomStore } from './store'
import { createTask, updateTask, type NewTask } from './task-tickets'
import { TokenBook } from './token-book'
import { ROOM_TOOLS, UNTRUSTED, type RoomTool } from './tools'
import { waitForChange } from './wait'

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

const BY_NAME = new Map(ROOM_TOOLS.map(tool => [tool.name, tool]))

/** Where calls meet the rooms: who may, in which room, and who hears of what it changed. */
export class RoomDesk {
  readonly tokens = new TokenBook()
  readonly presence = new RoomPresence()
  readonly feed = new RoomFeed()
  readonly deliveries: DeliveryBook
  readonly maxFileBytes: number
  readonly #store: RoomStore
  readonly #now: () => number
  readonly #maxWaitMs: number
  readonly #adminApi: boolean
  readonly #closing = new AbortController()
  #opened: Promise<void> | undefined
  readonly #rooms = new Set<string>()
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
      const { result } = await this.#store.run('loadTokens', this.system(), {})
      this.tokens.load(result)
      for (const room of result.rooms) this.#rooms.add(room)
      await this.onOpen()
    } catch (err) {
      this.#isReady = false
      throw err
    }
  }

  /** Whether there is a room of this name, folded. */
  hasRoom (room: string): boolean { return this.#rooms.has(room) }

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
    this.feed.publish(events)
    if (name === 'addRoom') this.#rooms.add((result as OutputOf<'addRoom'>).room)
    if (name === 'deleteRoom') {
      this.#rooms.delete(head.room)
      this.feed.deleted(head.room)
    }
    return result
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
      case 'create_task': return createTask(this, head, input as unknown as NewTask, options)
      case 'update_task': return updateTask(this, head, input as unknown as InputOf<'updateTask'>, options)
      case 'put_file': return this.run('putFile', head, { ...input as unknown as InputOf<'putFile'>, max_bytes: this.maxFileBytes })
      case 'wait_for_change': {
        const { timeout_s: seconds = DEFAULT_WAIT_S } = input as { timeout_s?: number }
        return waitForChange(this, head, { ms: Math.min(seconds * 1_000, this.#maxWaitMs), signal: options.signal })
      }
      case 'list_agents': return this.#listAgents(head)
      default: return await this.run(tool.command!, head, input as never) as object
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
