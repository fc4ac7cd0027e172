import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'
import type { Identity } from '../lib/identity'
import { may, type Principal, type Scope } from '../lib/principal'
import { sentHeader } from './sent-header'

export interface AuthOptions {
  identity: Identity
}

declare module 'fastify' {
  interface FastifyRequest { principal: Principal | null }
  interface FastifyContextConfig {
    /** What a principal needs for this route. A route that names none is open to everybody who is let in. */
    scope?: Scope
  }
}

/**
 * Decides who is asking, in the scope it is registered in, and whether they may. Routes read `request.principal` and never
 * a header; what a route needs is said where it is registered.
 */
export default fp<AuthOptions>(async function auth (app, { identity }) {
  app.decorateRequest('principal', null)

  app.addHook('onRequest', async request => {
    const principal = await identity.ofRequest(sentHeader(request, 'authorization'), () => app.noteWrongCredential(request))
    const { scope } = request.routeOptions.config
    if (scope !== undefined && !may(principal, scope)) {
      throw new ReadyroomError('FORBIDDEN_SCOPE', `This needs the scope ${scope}, which the token of ${principal.name} (${principal.kind}) does not have.`)
    }
    request.principal = principal
  })
}, { name: 'readyroom-auth', fastify: '5.x', dependencies: ['readyroom-errors', 'readyroom-throttle'] })
