import fp from 'fastify-plugin'
import { checkOrigin, type OriginRules } from '../lib/origin'
import { portOf } from './host'

export interface OriginOptions {
  policy: OriginRules['policy']
  port: number
  allowedOrigins: readonly string[]
}

/** Keeps pages of other origins away from the scope it is registered in. */
export default fp<OriginOptions>(async function origin (app, { policy, port, allowedOrigins }) {
  app.addHook('onRequest', async request => {
    const own = { port: portOf(request, port), allowedOrigins }
    const { origin, 'sec-fetch-site': site } = request.headers
    checkOrigin(origin, site as string | undefined, { policy, own, example: `http://127.0.0.1:${own.port}` })
  })
}, { name: 'readyroom-origin', fastify: '5.x', dependencies: ['readyroom-errors'] })
