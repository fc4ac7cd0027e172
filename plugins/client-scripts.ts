import fp from 'fastify-plugin'
import Type from 'typebox'
import { clientInfo, HOOK_VERSION_HEADER, scriptHeaders, TELLING } from '../lib/client-scripts'
import { clientScripts } from '../lib/node/client-scripts'
import { NoQuerySchema } from '../schemas/api'
import { ClientInfoSchema } from '../schemas/v1'
import { REFUSALS } from './errors'

export interface ClientScriptsOptions { version: string }

/**
 * Hands out what runs on an agent's machine, and says which version of it this server goes with. Registered before the
 * routes whose answers say so.
 */
export default fp<ClientScriptsOptions>(async function clientScriptRoutes (app, { version }) {
  app.addHook('onSend', async (request, reply) => {
    const { url = '' } = request.routeOptions
    if (TELLING.has(url.slice(app.prefix.length))) reply.header(HOOK_VERSION_HEADER, (await clientScripts()).hook.version)
  })

  for (const name of ['hook', 'watch'] as const) {
    app.get(`/${name}`, {
      config: { scope: 'room:read' },
      schema: { querystring: NoQuerySchema, response: { 200: Type.String(), ...REFUSALS } }
    }, async (_request, reply) => {
      const script = (await clientScripts())[name]
      return reply.headers(scriptHeaders(script)).send(script.text)
    })
  }

  app.get('/client', {
    config: { scope: 'room:read' },
    schema: { querystring: NoQuerySchema, response: { 200: ClientInfoSchema, ...REFUSALS } }
  }, async () => clientInfo(version, await clientScripts(), app.prefix))
}, { name: 'readyroom-client-scripts', fastify: '5.x' })
