import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Connections that one attack holds. */
export class Sockets {
  readonly #port: number
  readonly open = new Set<Socket>()
  /** How many the daemon has ended by itself, and the statuses that it said first. */
  ended = 0
  readonly said = new Map<string, number>()

  constructor (port: number) {
    this.#port = port
  }

  /** One more, connected; undefined where the machine gives none. What it is told is counted, and read unless `deaf`. */
  async add ({ deaf = false } = {}): Promise<Socket | undefined> {
    const socket = connect({ host: '127.0.0.1', port: this.#port })
    socket.on('error', () => {})
    try {
      await once(socket, 'connect')
    } catch { return undefined }
    this.open.add(socket)
    socket.once('close', () => { if (this.open.delete(socket)) this.ended++ })
    if (deaf) socket.pause()
    else {
      socket.setEncoding('latin1').on('data', (text: string) => {
        for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) this.said.set(status!, (this.said.get(status!) ?? 0) + 1)
      })
    }
    return socket
  }

  /** So many, a few hundred at a time. Resolves with how many there really are. */
  async addMany (count: number, options: { deaf?: boolean } = {}): Promise<Socket[]> {
    const made: Socket[] = []
    while (made.length < count) {
      const batch = await Promise.all(Array.from({ length: Math.min(200, count - made.length) }, () => this.add(options)))
      const opened = batch.filter(socket => socket !== undefined)
      made.push(...opened)
      if (opened.length < batch.length) break
    }
    return made
  }

  close (): void {
    const sockets = [...this.open]
    this.open.clear()
    for (const socket of sockets) socket.destroy()
  }
}
