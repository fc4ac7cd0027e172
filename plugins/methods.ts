import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'

interface KnownRoute { scope: FastifyInstance, url: string, methods: Set<string>, refused: Set<string> }

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers every other method of every route so far with 405. Called once, after the last route. */
    refuseOtherMethods (): void
  }
  interface FastifyContextConfig {
    /** A route that only refuses: its methods are not among those that `Allow` names. */
    refused?: boolean
  }
}

const many = (method: RouteOptions['method']): string[] => Array.isArray(method) ? method : [method]

/**
 * A known address with another method is 405, not 404 (RFC 9110, 15.5.6). Routes are added for it, so that the guards of
 * the scope stand before this answer too. OPTIONS is another method: there is no cross-origin use to announce.
 */
export default fp(async function methods (app) {
  const known = new Map<string, KnownRoute>()

  app.addHook('onRoute', function (this: FastifyInstance, route) {
    const path = (route as RouteOptions & { routePath: string }).routePath
    const entry = known.get(route.url) ?? { scope: this, url: path === '' ? '/' : path, methods: new Set(), refused: new Set() }
    known.set(route.url, entry)
    const group = route.config?.refused ? entry.refused : entry.methods
    for (const method of many(route.method)) group.add(method)
  })

  app.decorate('refuseOtherMethods', function refuseOtherMethods () {
    for (const { scope, url, methods, refused } of [...known.values()]) {
      const allow = [...methods].sort().join(', ')
      const others = app.supportedMethods.filter(method => !methods.has(method) && !refused.has(method)) as HTTPMethods[]
      const refuse = async (): Promise<never> => {
        throw new ReadyroomError('METHOD_NOT_ALLOWED', `This address answers ${allow} only.`, { headers: { allow } })
      }
      scope.route({ method: others, url, exposeHeadRoute: false, config: { refused: true }, onRequest: refuse, handler: refuse })
    }
  })
}, { name: 'readyroom-methods', fastify: '5.x' })
