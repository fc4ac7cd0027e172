import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { methodRefusal } from '../lib/http-refusals'

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
    // The root of a prefix is told with and without its slash; to register it is one route.
    const path = (route as RouteOptions & { routePath: string }).routePath || '/'
    const key = this.prefix + path
    const entry = known.get(key) ?? { scope: this, url: path, methods: new Set(), refused: new Set() }
    known.set(key, entry)
    const group = route.config?.refused ? entry.refused : entry.methods
    for (const method of many(route.method)) group.add(method)
  })

  app.decorate('refuseOtherMethods', function refuseOtherMethods () {
    for (const { scope, url, methods, refused } of [...known.values()]) {
      const allow = [...methods].sort().join(', ')
      const others = app.supportedMethods.filter(method => !methods.has(method) && !refused.has(method)) as HTTPMethods[]
      const refuse = async (): Promise<never> => { throw methodRefusal(allow) }
      // Hidden from whatever describes the routes of a host application: a refusal is nothing that one calls.
      const schema: object = { hide: true }
      scope.route({ method: others, url, exposeHeadRoute: false, schema, config: { refused: true }, onRequest: refuse, handler: refuse })
    }
  })
}, { name: 'readyroom-methods', fastify: '5.x' })
