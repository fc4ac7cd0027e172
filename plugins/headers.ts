import fp from 'fastify-plugin'
import { HEADERS } from '../lib/headers'

/** Security headers, set before anything else can answer, so that refusals and event streams have them too. */
export default fp(async function headers (app) {
  app.addHook('onRequest', async (_request, reply) => { reply.headers(HEADERS) })
}, { name: 'readyroom-headers', fastify: '5.x' })
