import { request, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import { DEADLINE_MS } from './http'

/** One block of an event stream, as it came. */
export interface Block { id?: string, event?: string, data?: string, comment?: string }

/** Reads an event stream, block by block, and never waits for longer than the deadline. */
export class Stream {
  readonly response: IncomingMessage
  readonly #request: ClientRequest
  readonly #blocks: Block[] = []
  #text = ''
  #wake: (() => void) | undefined
  #ended = false

  constructor (request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    for (const end of ['end', 'error', 'close']) {
      response.on(end, () => {
        this.#ended = true
        this.#wake?.()
      })
    }
  }

  /** The next block. @throws Error when the stream ends or is silent past the deadline. */
  async next (): Promise<Block> {
    const block = await this.#nextOrEnd()
    if (block === undefined) throw new Error('The stream has ended')
    return block
  }

  /** The next block that is an event. */
  async event (): Promise<Block> {
    for (;;) {
      const block = await this.next()
      if (block.data !== undefined) return block
    }
  }

  /** Resolves when the stream has ended; what came before is returned. */
  async rest (): Promise<Block[]> {
    const blocks: Block[] = []
    for (;;) {
      const block = await this.#nextOrEnd()
      if (block === undefined) return blocks
      blocks.push(block)
    }
  }

  close (): void {
    this.#request.destroy()
  }

  async #nextOrEnd (): Promise<Block | undefined> {
    if (this.#blocks.length === 0 && !this.#ended) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(new Error('Nothing came in time')), DEADLINE_MS)
      this.#wake = resolve
      try {
        await promise
      } finally {
        clearTimeout(timer)
        this.#wake = undefined
      }
    }
    return this.#blocks.shift()
  }

  #take (text: string): void {
    const parts = (this.#text + text).split('\n\n')
    this.#text = parts.pop()!
    for (const part of parts) this.#blocks.push(parseBlock(part))
    if (this.#blocks.length > 0) this.#wake?.()
  }
}

function parseBlock (text: string): Block {
  const block: Block = {}
  for (const line of text.split('\n')) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line)!
    if (name === '') block.comment = value!
    else if (name === 'data' && block.data !== undefined) block.data += `\n${value}`
    else block[name as 'id' | 'event' | 'data'] = value!
  }
  return block
}

interface Teardown { teardown (close: () => unknown): void }

/** Opens the events of an application; closed with the test. */
export async function openStream (t: Teardown, origin: string, headers: OutgoingHttpHeaders = {}, path = '/api/events'): Promise<Stream> {
  const asked = request(new URL(path, origin), { headers, agent: false })
  asked.on('error', () => {})
  asked.end()
  const [response] = await once(asked, 'response', { signal: AbortSignal.timeout(DEADLINE_MS) }) as [IncomingMessage]
  const stream = new Stream(asked, response)
  t.teardown(() => stream.close())
  return stream
}
