import { Agent, get, request, type IncomingMessage } from 'node:http'

export interface Answer<T> { status: number, body: T }

export interface ToolAnswer { id: string, status: string, answer?: string }

/** The daemon as agents and people reach it: over HTTP, on connections that stay open. */
export class Door {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 200 })
  #id = 0

  constructor (port: number) {
    this.#port = port
  }

  post<T> (path: string, body: object, signal?: AbortSignal): Promise<Answer<T>> {
    return new Promise((resolve, reject) => {
      const text = JSON.stringify(body)
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        accept: 'application/json, text/event-stream',
        origin: `http://127.0.0.1:${this.#port}`
      }
      const req = request({ agent: this.#agent, host: '127.0.0.1', port: this.#port, path, method: 'POST', headers, ...(signal && { signal }) }, res => {
        read(res).then(said => { resolve({ status: res.statusCode ?? 0, body: JSON.parse(said) as T }) }).catch(reject)
      })
      req.on('error', reject)
      req.end(text)
    })
  }

  /** Calls a tool as the agent of a stream. @throws Error with what was said, where it was refused */
  async call (stream: string, name: string, args: object, signal?: AbortSignal): Promise<ToolAnswer> {
    const message = { jsonrpc: '2.0', id: ++this.#id, method: 'tools/call', params: { name, arguments: args } }
    const { body } = await this.post<{ result?: { structuredContent?: ToolAnswer } }>(`/mcp/${stream}`, message, signal)
    const answer = body.result?.structuredContent
    if (answer === undefined) throw new Error(`${name} was refused: ${JSON.stringify(body)}`)
    return answer
  }

  /** Reads something that never ends until `signal` says so. */
  stream (path: string, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      get({ agent: false, host: '127.0.0.1', port: this.#port, path, headers: { accept: 'text/event-stream', ...headers }, signal }, resolve).on('error', reject)
    })
  }

  async get (path: string): Promise<string> {
    return read(await new Promise<IncomingMessage>((resolve, reject) => {
      get({ agent: this.#agent, host: '127.0.0.1', port: this.#port, path }, resolve).on('error', reject)
    }))
  }

  close (): void { this.#agent.destroy() }
}

async function read (res: IncomingMessage): Promise<string> {
  let text = ''
  res.setEncoding('utf8')
  for await (const part of res) text += part as string
  // A stream of events with the one message in it, or the message itself.
  return text.startsWith('{') ? text : /^data: ?(\{.*)$/m.exec(text)?.[1] ?? '{}'
}
