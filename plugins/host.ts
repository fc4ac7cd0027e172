import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'
import { isHostAllowed, isLoopbackAddress } from '../lib/origin'
import { sentHeader } from './sent-header'

export interface HostOptions {
  /** Set, it is the token that guards, and any name may lead here. */
  token?: string | undefined
  /** The port that we listen on, where a connection does not say. */
  port: number
  allowedOrigins: readonly string[]
  /** Names beside our own. Set, they are what is answered with a token, too. */
  allowedHosts?: readonly string[]
  /** False where whatever stands in front checks the Host header. */
  protection?: boolean
}

/** The port that was reached: behind `listen(0)` only the connection knows it. */
export const portOf = (request: FastifyRequest, port: number): number => request.socket.localPort ?? port

/** The host in a target such as `http://host/path`, which goes before the header where a client sends it (RFC 9112, 3.2.2). */
function targetHost (url: string): string | undefined {
  return /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1]
}

/**
 * Without a token the loopback is the access control, and a page that has its name pointed at 127.0.0.1 would be on it
 * (DNS rebinding). Its browser still tells the name that it asked for: only ours pass.
 */
export default fp<HostOptions>(async function host (app, { token, port, allowedOrigins, allowedHosts = [], protection = true }) {
  if (!protection || (token !== undefined && allowedHosts.length === 0)) return

  app.addHook('onRequest', async request => {
    // Whoever listens for other machines without a token has been refused at the start; a host application may not know.
    const { localAddress } = request.socket
    if (token === undefined && localAddress !== undefined && !isLoopbackAddress(localAddress)) {
      throw new ReadyroomError('FORBIDDEN_HOST', 'Without a token this Ready Room answers on a loopback address only. Set READYROOM_TOKEN.')
    }
    const own = { port: portOf(request, port), allowedOrigins, allowedHosts }
    const target = targetHost(request.raw.url ?? '')
    if (!isHostAllowed(sentHeader(request, 'host'), own) || (target !== undefined && !isHostAllowed(target, own))) {
      throw new ReadyroomError('FORBIDDEN_HOST',
        `This Ready Room answers only to a loopback name with port ${own.port}, such as 127.0.0.1:${own.port}. ` +
        'Another name or port must be listed in READYROOM_ALLOWED_ORIGINS or READYROOM_ALLOWED_HOSTS.')
    }
  })
}, { name: 'readyroom-host', fastify: '5.x', dependencies: ['readyroom-errors'] })
