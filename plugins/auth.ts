import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'
import { OWNER, type Principal } from '../lib/principal'
import { bearerOf, constantTimeEqual } from '../lib/token'

export interface AuthOptions {
  /** Unset means that every caller may act: a bind that is not loopback refuses to start like that. */
  token?: string | undefined
}

declare module 'fastify' {
  interface FastifyRequest { principal: Principal | null }
}

const refuse = (message: string): ReadyroomError =>
  // Plain, without an error parameter or a metadata address: those would send clients into a login that does not exist.
  new ReadyroomError('UNAUTHORIZED', message, { headers: { 'www-authenticate': 'Bearer realm="readyroom"' } })

/** Decides who is asking, in the scope it is registered in. Routes read `request.principal` and never a header. */
export default fp<AuthOptions>(async function auth (app, { token }) {
  app.decorateRequest('principal', null)

  app.addHook('onRequest', async request => {
    if (token !== undefined) {
      const given = bearerOf(request.headers.authorization)
      // Nothing given is nothing guessed: it is not counted, so that a client without a token does not use up the limit.
      if (given === undefined) throw refuse('A token is needed: send the header `Authorization: Bearer <token>`.')
      if (!await constantTimeEqual(given, token)) {
        await app.noteWrongCredential(request)
        throw refuse('This is not the token of this Ready Room.')
      }
    }
    request.principal = OWNER
  })
}, { name: 'readyroom-auth', fastify: '5.x', dependencies: ['readyroom-errors', 'readyroom-throttle'] })
