import fp from 'fastify-plugin'
import Type from 'typebox'
import { clientScripts, type ScriptName } from '../lib/node/client-scripts'
import { NoQuerySchema } from '../schemas/api'
import { ClientInfoSchema } from '../schemas/v1'
import { REFUSALS } from './errors'

export interface ClientScriptsOptions { version: string }

/** The addresses whose answers a hook reads anyway: it learns there that it is old. */
const TELLING = /\/(?:unread|whats-new)$/

/**
 * Hands out what runs on an agent's machine, and says which version of it this server goes with. Registered before the
 * routes whose answers say so.
 */
export default fp<ClientScriptsOptions>(async function clientScriptRoutes (app, { version }) {
  app.addHook('onSend', async (request, reply) => {
    if (!TELLING.test(request.routeOptions.url ?? '')) return
    reply.header('x-readyroom-hook-version', (await clientScripts()).hook.version)
  })

  for (const name of ['hook', 'watch'] as const) {
    app.get(`/${name}`, {
      config: { scope: 'room:read' },
      schema: { querystring: NoQuerySchema, response: { 200: Type.String(), ...REFUSALS } }
    }, async (_request, reply) => {
      const { version, sha256, text } = (await clientScripts())[name]
      return reply.headers({
        'content-type': 'text/javascript; charset=utf-8',
        'content-disposition': `attachment; filename="readyroom-${name}.mjs"`,
        'x-readyroom-version': version,
        'x-readyroom-sha256': sha256
      }).send(text)
    })
  }

  app.get('/client', {
    config: { scope: 'room:read' },
    schema: { querystring: NoQuerySchema, response: { 200: ClientInfoSchema, ...REFUSALS } }
  }, async () => {
    const scripts = await clientScripts()
    const entry = (name: ScriptName) => ({ version: scripts[name].version, sha256: scripts[name].sha256, url: `${app.prefix}/${name}` })
    return { server: { name: 'readyroom', version }, scripts: { hook: entry('hook'), watch: entry('watch') } }
  })
}, { name: 'readyroom-client-scripts', fastify: '5.x' })
