import type { Readable, Writable } from 'node:stream'
import {
  isJSONRPCErrorResponse, isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResultResponse, parseJSONRPCMessage, ProtocolErrorCode,
  type JSONRPCMessage, type RequestId, type Transport
} from '@modelcontextprotocol/server'
import { mendArguments } from '../mcp'
import type { Log } from './log'

const BREAK = 0x0a
/** The longest line that is read, in bytes. What is longer is passed over and never held in memory. */
export const MAX_LINE_BYTES = 10 * 1024 * 1024
/** As much of both ends of a line too long as is kept, to find the id of the request that it was. */
const ENDS_BYTES = 512
/** After a chunk of so many bytes everything else gets its turn: a pipe that is full is read thirty-two times in one. */
const BREATH_BYTES = 32 * 1024

// A mark of the byte order, as some shells put before what they pipe, is left out.
const utf8 = new TextDecoder('utf-8', { fatal: true })

export interface StdioWireOptions {
  stdin: Readable
  stdout: Writable
  log: Pick<Log, 'warn'>
  /** Called once when no more can come in, before anything is closed: what still waits should answer. */
  onEnd (): void
  /** How long calls in flight get to answer after the end of stdin, in milliseconds. */
  drainMs: number
}

/** The id of a request, read from either end of a line whose middle is gone: clients write it first or last. */
function idOf (head: string, tail: string): RequestId | undefined {
  const id = /^\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{1,100}"),/.exec(head)?.[1] ?? /,"id":(\d{1,15}|"[^"\\]{1,100}")\}\s*$/.exec(tail)?.[1]
  return id === undefined ? undefined : JSON.parse(id) as RequestId
}

/**
 * Messages, a line each, over the pipes of a process. The SDK's own transport gives the connection up at a line that is
 * too long, leaves a caller without an answer whose message is malformed, and drops what is in flight when stdin ends.
 * This one goes on, refuses, and answers first.
 */
export class StdioWire implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  /** Whether any message of the protocol has come in. */
  spoken = false
  readonly #options: StdioWireOptions
  readonly #inFlight = new Set<RequestId>()
  #parts: Buffer[] = []
  #bytes = 0
  #head = ''
  #ended = false
  #closed = false
  #warned = false
  #deadline: NodeJS.Timeout | undefined

  constructor (options: StdioWireOptions) {
    this.#options = options
  }

  async start (): Promise<void> {
    const { stdin, stdout } = this.#options
    stdout.on('error', this.#onBroken)
    stdin.on('data', this.#onData)
    stdin.on('end', this.#onEnd)
    stdin.on('close', this.#onEnd)
    stdin.on('error', this.#onEnd)
    if (stdin.readableEnded || stdin.destroyed) setImmediate(this.#onEnd)
  }

  /** Resolves when the pipe has taken the message. */
  async send (message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    const { stdout } = this.#options
    await new Promise<void>(resolve => {
      // A client that does not read is not listened to either: what it is owed stays bounded.
      if (!stdout.write(JSON.stringify(message) + '\n', () => resolve())) this.#holdInput()
    })
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#settle(message.id)
  }

  async close (): Promise<void> {
    this.#shut()
  }

  /** Nothing more is read. Closes when what is in flight has answered, or `drainMs` later. */
  end (): void {
    if (this.#ended || this.#closed) return
    this.#ended = true
    this.#options.onEnd()
    if (this.#inFlight.size === 0) return this.#shut()
    this.#deadline = setTimeout(() => this.#shut(), this.#options.drainMs)
  }

  #shut (): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#deadline)
    const { stdin } = this.#options
    stdin.off('data', this.#onData)
    stdin.off('end', this.#onEnd)
    stdin.off('close', this.#onEnd)
    // Errors of both pipes stay heard, by nobody: one that comes late must not end the process.
    if (!stdin.destroyed) stdin.pause()
    this.#parts = []
    this.onclose?.()
  }

  readonly #onData = (chunk: Buffer | string): void => {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let at = rest.indexOf(BREAK); at !== -1 && !this.#closed; at = rest.indexOf(BREAK)) {
      this.#take(rest.subarray(0, at))
      this.#finishLine()
      rest = rest.subarray(at + 1)
    }
    this.#take(rest)
    if (chunk.length >= BREATH_BYTES) this.#breathe()
  }

  #take (part: Buffer): void {
    if (part.length === 0) return
    this.#bytes += part.length
    this.#parts.push(part)
    if (this.#bytes <= MAX_LINE_BYTES) return
    const all = Buffer.concat(this.#parts)
    this.#head ||= all.toString('latin1', 0, ENDS_BYTES)
    this.#parts = [Buffer.from(all.subarray(-ENDS_BYTES))]
  }

  #finishLine (): void {
    const bytes = this.#bytes
    const line = Buffer.concat(this.#parts)
    const head = this.#head
    this.#parts = []
    this.#bytes = 0
    this.#head = ''
    if (bytes > MAX_LINE_BYTES) {
      this.#warn('A line on standard input is too long to be read', { bytes, limit: MAX_LINE_BYTES })
      this.#refuse(idOf(head, line.toString()), `The message has ${bytes.toLocaleString('en-US')} bytes; at most ${MAX_LINE_BYTES.toLocaleString('en-US')} are read.`)
    } else {
      this.#read(line)
    }
  }

  #read (line: Buffer): void {
    let text: string | undefined
    try {
      text = utf8.decode(line)
    } catch { /* Read leniently, its id is known; but no letter of a question may be replaced. */ }
    const lenient = text ?? line.toString()
    if (lenient.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(lenient)
    } catch {
      return this.#warn('A line on standard input is not JSON', { line: lenient.slice(0, 100) })
    }
    if (text === undefined) {
      this.#warn('A line on standard input is not UTF-8', { line: lenient.slice(0, 100) })
      return this.#refuse((value as { id?: unknown } | null)?.id, 'The message is not UTF-8: send JSON in UTF-8.')
    }
    if (typeof value === 'object' && value !== null) mendArguments(value)
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      this.#warn('A line on standard input is no JSON-RPC message', { line: text.slice(0, 100) })
      for (const one of Array.isArray(value) ? value : [value]) {
        this.#refuse((one as { id?: unknown } | null)?.id, Array.isArray(value)
          ? 'Send one JSON-RPC message a line. Batches are not part of the protocol since 2025-06-18.'
          : 'This is no JSON-RPC 2.0 message.')
      }
      return
    }
    if (isJSONRPCRequest(message)) this.#inFlight.add(message.id)
    if (isJSONRPCRequest(message) || isJSONRPCNotification(message)) this.spoken = true
    this.onmessage?.(message)
    // A cancelled call is not answered.
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') this.#settle(message.params?.['requestId'])
  }

  /** Answers what cannot be served, where it can be told whom. Without that, a client would wait for its own timeout. */
  #refuse (id: unknown, message: string): void {
    if (typeof id !== 'string' && typeof id !== 'number') return
    this.send({ jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InvalidRequest, message } }).catch(() => {})
  }

  /** Once: whoever pipes garbage in would only get it back on standard error. */
  #warn (message: string, details: object): void {
    if (!this.#warned) this.#options.log.warn(details, `${message}; it is passed over, and further ones are without a word`)
    this.#warned = true
  }

  #settle (id: unknown): void {
    this.#inFlight.delete(id as RequestId)
    if (this.#ended && this.#inFlight.size === 0) this.#shut()
  }

  #holdInput (): void {
    const { stdin, stdout } = this.#options
    if (stdin.isPaused()) return
    stdin.pause()
    stdout.once('drain', () => { if (!this.#closed) stdin.resume() })
  }

  // Signals, timers and the answers under way would wait for as long as somebody floods standard input.
  #breathe (): void {
    const { stdin, stdout } = this.#options
    if (this.#closed || stdin.isPaused()) return
    stdin.pause()
    setImmediate(() => {
      if (this.#closed) return
      stdin.resume()
      if (stdout.writableNeedDrain) this.#holdInput()
    })
  }

  readonly #onEnd = (): void => {
    // A last line without its line break is a line.
    if (!this.#ended && !this.#closed && this.#bytes > 0) this.#finishLine()
    this.end()
  }

  // Nobody reads any more: there is nothing left to answer.
  readonly #onBroken = (): void => { this.#shut() }
}
