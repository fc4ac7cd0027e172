import { setTimeout as delay } from 'node:timers/promises'
import { ReadyroomError } from '../errors'
import { mintId } from '../lifecycle'
import type { Elsewhere, McpServerOptions } from '../mcp'
import { ROOM_TOOLS } from '../room/tools'
import { TOOLS, waitMs, withProgress, type ToolContext, type ToolResult } from '../tools'
import { askElsewhere, LostError, RefusalError, type Endpoint } from './elsewhere-call'

/** The longest wait that is asked for in one go, in milliseconds: proxies cut what says nothing for a minute or two. */
const SLICE_MS = 20_000
/** How long a call goes on trying to get through, in milliseconds: less than the minute that MCP clients give it. */
const PATIENCE_MS = 45_000
/** Between two attempts, in milliseconds; twice as long each time. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000
/** At least, between two slices of a wait that were answered early, in milliseconds. */
const BREATH_MS = 250
/** How long it may take to learn how a ticket stands when a wait for it is given up, in milliseconds: a process that ends has little time. */
const LOOK_MS = 300
/** How long past its own end a wait may take to be answered, in milliseconds: less than the margin that waits keep. */
const GRACE_MS = 4_000
/** Unless the agent says how long it waits for a change, in seconds. */
const ROOM_WAIT_S = 60

const READING = new Set([...TOOLS, ...ROOM_TOOLS].filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name))

export interface ServerElsewhereOptions extends Endpoint {
  /** The longest wait for a change in a room, in milliseconds. */
  maxRoomWaitMs: number
  patienceMs?: number
  sliceMs?: number
}

interface CallOptions {
  /** How long it is tried, in milliseconds. */
  ms: number
  /** How long the server itself may take, in milliseconds. */
  holdsMs?: number
  signal: AbortSignal | undefined
}

/**
 * The Ready Room of another machine, as the agent of this process uses it. A call that got no answer is sent again: what
 * changes something carries a key that is made here, by which the server knows what it has done already.
 */
export class ServerElsewhere implements Elsewhere {
  readonly roomTools = ROOM_TOOLS
  readonly #options: ServerElsewhereOptions
  readonly #patienceMs: number
  readonly #sliceMs: number
  /** How far the clock there is ahead of this one, in milliseconds: the time in a key becomes that of a ticket. */
  #aheadMs = 0
  readonly #onTime = (now: number): void => { this.#aheadMs = now - Date.now() }

  constructor (options: ServerElsewhereOptions) {
    this.#options = options
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
    this.#sliceMs = options.sliceMs ?? SLICE_MS
  }

  async run (name: string, args: unknown, context: Omit<ToolContext, 'desk'>): Promise<ToolResult> {
    try {
      switch (name) {
        case 'wait_for_answer': return await withProgress(context, () => this.#waitForAnswer(args, context.signal))
        case 'wait_for_change': return await this.#waitForChange(args, context.signal)
        default: return await this.#call(name, args, { ms: this.#patienceMs, signal: context.signal })
      }
    } catch (err) {
      if (err instanceof RefusalError || (err instanceof ReadyroomError && err.code === 'STORE_UNAVAILABLE')) {
        return { content: [{ type: 'text', text: err.message }], isError: true }
      }
      throw err
    }
  }

  /** What of the tools the credential may use, by what the server lists. @throws RefusalError, STORE_UNAVAILABLE after `ms` */
  async offered (ms: number): ReturnType<NonNullable<McpServerOptions['offered']>> {
    const { tools } = await askElsewhere(this.#options, 'tools/list', {}, { timeoutMs: ms, onTime: this.#onTime }) as { tools?: Array<{ name: string }> }
    const names = new Set(tools?.map(({ name }) => name))
    return { scopes: TOOLS.filter(({ name }) => names.has(name)).map(({ scope }) => scope), room_tools: [...names] }
  }

  #waitForAnswer (args: unknown, signal: AbortSignal | undefined): Promise<ToolResult> {
    const { timeout_seconds: seconds = 60, ...rest } = (args ?? {}) as { timeout_seconds?: unknown }
    // What is no time is for the server to refuse, in its words.
    if (typeof seconds !== 'number' || !(seconds >= 0)) return this.#call('wait_for_answer', args, { ms: this.#patienceMs, signal })
    return this.#sliced('wait_for_answer', waitMs(seconds), signal, {
      argsOf: ms => ({ ...rest, timeout_seconds: ms / 1_000 }),
      isOver: ({ structuredContent }) => structuredContent?.['status'] !== 'pending'
    })
  }

  #waitForChange (args: unknown, signal: AbortSignal | undefined): Promise<ToolResult> {
    const { timeout_s: seconds = ROOM_WAIT_S, ...rest } = (args ?? {}) as { timeout_s?: unknown }
    if (typeof seconds !== 'number' || !(seconds >= 0)) return this.#call('wait_for_change', args, { ms: this.#patienceMs, signal })
    return this.#sliced('wait_for_change', Math.min(seconds * 1_000, this.#options.maxRoomWaitMs), signal, {
      argsOf: ms => ({ ...rest, timeout_s: ms / 1_000 }),
      isOver: ({ structuredContent }) => structuredContent?.['changed'] !== false
    })
  }

  /** A wait in slices, each of which the server and whatever stands before it can hold. */
  async #sliced (
    name: string, ms: number, signal: AbortSignal | undefined,
    { argsOf, isOver }: { argsOf (ms: number): object, isOver (result: ToolResult): boolean }
  ): Promise<ToolResult> {
    const wallEnd = Date.now() + ms
    const end = performance.now() + ms
    const left = (): number => Math.max(0, Math.min(end - performance.now(), wallEnd - Date.now()))
    let known: ToolResult | undefined
    for (;;) {
      const slice = Math.ceil(Math.min(left(), this.#sliceMs))
      const asked = performance.now()
      const patience = known === undefined ? Math.max(this.#patienceMs, slice + GRACE_MS) : left() + GRACE_MS
      try {
        known = await this.#call(name, argsOf(slice), { ms: patience, holdsMs: slice, signal })
      } catch (err) {
        // How it stood a little ago is a better answer to a wait than that nothing answers now.
        if (known !== undefined) return known
        if (signal?.aborted) return this.#look(name, argsOf(0), err)
        throw err
      }
      if (known.isError || isOver(known) || left() <= 0 || signal?.aborted) return known
      if (performance.now() - asked < slice / 2) await delay(Math.min(BREATH_MS, left()), undefined, { ...(signal && { signal }) }).catch(() => {})
    }
  }

  async #look (name: string, args: object, cause: unknown): Promise<ToolResult> {
    try {
      return await askElsewhere(this.#options, 'tools/call', { name, arguments: args }, { timeoutMs: LOOK_MS }) as ToolResult
    } catch {
      throw new ReadyroomError('STORE_UNAVAILABLE', 'The wait was given up before Ready Room answered.', { cause })
    }
  }

  /** @throws STORE_UNAVAILABLE after `ms`. @throws RefusalError. @throws the reason of `signal` */
  async #call (name: string, args: unknown, { ms, holdsMs = 0, signal }: CallOptions): Promise<ToolResult> {
    const end = performance.now() + ms
    const key = READING.has(name) ? undefined : mintId(Date.now() + this.#aheadMs)
    let reached = false
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const timeoutMs = Math.max(1, Math.min(end - performance.now(), holdsMs + this.#patienceMs / 2))
        return await askElsewhere(this.#options, 'tools/call', { name, arguments: args ?? {} }, { timeoutMs, signal, key, onTime: this.#onTime }) as ToolResult
      } catch (err) {
        if (!(err instanceof LostError)) throw err
        reached ||= err.reached
        if (performance.now() + pause >= end) throw this.#unreachable(name, reached && key !== undefined, err)
      }
      await delay(pause, undefined, { ...(signal && { signal }) })
    }
  }

  #unreachable (name: string, isUnknown: boolean, cause: LostError): ReadyroomError {
    const look = name === 'ask_human' || name === 'cancel_ticket' ? 'list_pending' : 'read_messages, list_tasks, list_files'
    const outcome = isUnknown
      ? `Whether this was done is not known: look (${look}) before you do it again.`
      : 'Every ticket that was acknowledged is safe; try this call again in a minute.'
    return new ReadyroomError('STORE_UNAVAILABLE', `The Ready Room at ${this.#options.url} does not answer (${cause.message}). ${outcome}`, { cause })
  }
}
