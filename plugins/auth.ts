import fp from 'fastify-plugin'
import { authenticate } from '../lib/credential'
import { OWNER, type Principal } from '../lib/principal'
import { sentHeader } from './sent-header'

export interface AuthOptions {
  /** Unset means that every caller may act: a bind that is not loopback refuses to start like that. */
  token?: string | undefined
}

declare module 'fastify' {
  interface FastifyRequest { principal: Principal | null }
}

/** Decides who is asking, in the scope it is registered in. Routes read `request.principal` and never a header. */
export default fp<AuthOptions>(async function auth (app, { token }) {
  app.decorateRequest('principal', null)

  app.addHook('onRequest', async request => {
    request.principal = token === undefined
      ? OWNER
      : await authenticate(sentHeader(request, 'authorization'), token, () => app.noteWrongCredential(request))
  })
}, { name: 'readyroom-auth', fastify: '5.x', dependencies: ['readyroom-errors', 'readyroom-throttle'] })
