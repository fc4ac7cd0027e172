import type { Socket } from 'node:net'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'

/** How many requests of one connection may be under way at a time. Who sends one after the other has one. */
export const PIPELINE_LIMIT = 10

/** Who sends so many more, in the same breath, waits for no answer: the connection is cut. */
const FLOOD = 100

/**
 * Requests that are sent without waiting for the answers before (RFC 9112, 9.3.2) are all begun at once, and each answer is held until
 * it is its turn: a few kilobytes of them, sent by somebody who reads nothing, would fill the memory.
 */
export default fp(async function pipelining (app) {
  const underWay = new WeakMap<Socket, number>()

  app.addHook('onRequest', async ({ raw: { socket } }, reply) => {
    const { raw } = reply
    if (raw.destroyed) return
    const count = (underWay.get(socket) ?? 0) + 1
    underWay.set(socket, count)
    raw.once('close', () => underWay.set(socket, underWay.get(socket)! - 1))
    if (count <= PIPELINE_LIMIT) return
    // The first refusal ends the connection, so that an answer to what comes behind it would be made for nobody.
    if (count > PIPELINE_LIMIT + 1) reply.hijack()
    if (count > FLOOD) socket.destroy()
    if (reply.sent) return
    throw new ReadyroomError('TOO_MANY_REQUESTS',
      `One connection may have ${PIPELINE_LIMIT} requests under way. Wait for an answer before the next request, or open another connection.`,
      { headers: { connection: 'close' } })
  })
}, { name: 'readyroom-pipelining', fastify: '5.x', dependencies: ['readyroom-errors'] })
