import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'
import { isOriginAllowed, type OriginPolicy } from '../lib/origin'
import { portOf } from './host'

export interface OriginOptions {
  /** `page`: what the heads-up page sends, and programs. The others are for MCP. */
  policy: 'page' | OriginPolicy
  port: number
  allowedOrigins: readonly string[]
}

/** Fetch Metadata: a browser's own word on where a request comes from. A program sends none. */
const SAME_SITE = new Set([undefined, 'same-origin', 'none'])

/** Keeps pages of other origins away from the scope it is registered in. */
export default fp<OriginOptions>(async function origin (app, { policy, port, allowedOrigins }) {
  app.addHook('onRequest', async request => {
    const own = { port: portOf(request, port), allowedOrigins }
    const { origin } = request.headers
    if (policy === 'page' && !SAME_SITE.has(request.headers['sec-fetch-site'] as string | undefined)) {
      throw new ReadyroomError('FORBIDDEN_ORIGIN', 'A browser may ask this only from the heads-up page itself.')
    }
    if (origin === undefined && policy !== 'strict') return
    // Node joins a doubled header with a comma, and that is no origin.
    if (origin === undefined || !isOriginAllowed(origin, own)) {
      throw new ReadyroomError('FORBIDDEN_ORIGIN', refusal(request, own.port, policy))
    }
  })
}, { name: 'readyroom-origin', fastify: '5.x', dependencies: ['readyroom-errors'] })

/** What to do about it: the one who reads this is setting up a client. */
function refusal (request: FastifyRequest, port: number, policy: OriginOptions['policy']): string {
  const { origin } = request.headers
  const got = origin === undefined ? 'The Origin header is missing.' : `The Origin ${JSON.stringify(origin.slice(0, 200))} is not one of this Ready Room's.`
  if (policy === 'page') return `${got} Another origin must be listed in READYROOM_ALLOWED_ORIGINS.`
  return `${got} Add this header to the client's settings: \`Origin: http://127.0.0.1:${port}\`. ` +
    'An origin of its own must be listed in READYROOM_ALLOWED_ORIGINS; READYROOM_ORIGIN_POLICY=spec admits a client that sends none.'
}
