import type { Socket } from 'node:net'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'
import { HEADERS } from '../lib/headers'

/** How many requests of one connection may be under way at a time. Who sends one after the other has one. */
export const PIPELINE_LIMIT = 5

/** Who has sent so many in the same breath waits for no answer: the connection is cut. */
const FLOOD = 20

/**
 * What has been read of a connection that was cut is still made into requests, hundreds from one read, and none of them is
 * let go before the end of the event loop's turn: five hundred connections had more than a gigabyte. The parser is told
 * that nobody wants to hear of the next one; where a release of Node has no such place, it only costs that memory.
 */
function forgetTheRest (socket: Socket): void {
  const { parser } = socket as Socket & { parser?: { onIncoming?: unknown } | null }
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => SKIP_BODY
}

/** What a parser of Node hears from whoever it hands a request to: that its body is of no interest. */
const SKIP_BODY = 2

/**
 * Requests that are sent without waiting for the answers before (RFC 9112, 9.3.2) are all begun at once, and each answer
 * is held until it is its turn: a few kilobytes of them, sent by somebody who reads nothing, would fill the memory.
 *
 * The first hook of all, and one that takes a callback: hundreds of requests come out of one read from a socket, and
 * nobody else is served before the last of them. What is not passed on costs nothing more.
 */
export default fp(async function pipelining (app) {
  const underWay = new WeakMap<Socket, number>()

  app.addHook('onRequest', ({ raw: { socket } }, { raw }, done) => {
    // What stood behind in the same read still comes after the connection has been cut.
    if (socket.destroyed) return
    const count = (underWay.get(socket) ?? 0) + 1
    underWay.set(socket, count)
    raw.once('close', () => underWay.set(socket, underWay.get(socket)! - 1))
    if (count <= PIPELINE_LIMIT) return done()
    if (count > FLOOD) {
      socket.destroy()
      forgetTheRest(socket)
    }
    // The first refusal ends the connection: an answer to what comes behind it would be made for nobody.
    if (count > PIPELINE_LIMIT + 1) return
    done(new ReadyroomError('TOO_MANY_REQUESTS',
      `One connection may have ${PIPELINE_LIMIT} requests under way. Wait for an answer before the next request, or open another connection.`,
      { headers: { ...HEADERS, connection: 'close' } }))
  })
}, { name: 'readyroom-pipelining', fastify: '5.x' })
