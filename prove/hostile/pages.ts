import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** Pages of somebody else, each under a name of its own: what a person may have open beside the heads-up page. */
export class OtherSite {
  readonly #server: Server
  readonly #pages = new Map<string, string>()

  private constructor (server: Server) {
    this.#server = server
  }

  static async start (): Promise<OtherSite> {
    const server = createServer()
    const site = new OtherSite(server)
    server.on('request', (request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(`<!doctype html>${site.#pages.get(request.url!) ?? ''}`)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return site
  }

  get port (): number { return (this.#server.address() as AddressInfo).port }

  /** The path of a page with this content. */
  put (html: string): string {
    const path = `/${this.#pages.size}`
    this.#pages.set(path, html)
    return path
  }

  async close (): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
