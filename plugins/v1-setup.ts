import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ReadyroomError } from '../lib/errors'
import type { Identity } from '../lib/identity'
import { clientScripts } from '../lib/node/client-scripts'
import type { Edge } from '../lib/node/edge-settings'
import type { OriginPolicy } from '../lib/origin'
import type { RoomAdmin } from '../lib/room/admin'
import { setupText } from '../lib/room/setup-text'
import { NoQuerySchema } from '../schemas/api'
import { PostureSchema, SetupTextQuerySchema, SetupTextSchema } from '../schemas/setup'
import { REFUSALS } from './errors'
import { portOf } from './host'
import { checkAdministers } from './v1-admin'

export interface V1SetupOptions {
  identity: Identity
  admin: RoomAdmin
  edge: Edge
  token: string | undefined
  trustProxy: boolean | string | undefined
  allowedOrigins: readonly string[]
  originPolicy: OriginPolicy
  version: string
}

/** What the admin page shows: how all this stands towards the world, and how an agent is set up. Nothing here holds a token. */
const v1Setup: FastifyPluginAsyncTypebox<V1SetupOptions> = async function v1Setup (app, { identity, admin, edge, version, ...options }) {
  const config = edge.adminApi ? { scope: 'server:admin' as const } : {}
  const onRequest = async (): Promise<void> => checkAdministers(edge.adminApi, identity)
  const { trustProxy = false } = options

  app.get('/admin/posture', {
    config,
    onRequest,
    schema: { querystring: NoQuerySchema, response: { 200: PostureSchema, ...REFUSALS } }
  }, async () => ({
    version,
    token_set: options.token !== undefined,
    initialised: (await admin.run('list', {})).initialised,
    admin_api: edge.adminApi,
    ui: edge.enableUi,
    console_lan_only: edge.consoleLanOnly,
    host_check: edge.dnsRebindProtection,
    allowed_hosts: edge.allowedHosts,
    public_hosts: edge.publicHosts,
    allowed_origins: [...options.allowedOrigins],
    origin_policy: options.originPolicy,
    trust_proxy: typeof trustProxy === 'string' ? trustProxy : trustProxy ? 'on' : 'off',
    ...(edge.publicUrl !== '' && { public_url: edge.publicUrl }),
    ...(edge.lanUrl !== '' && { lan_url: edge.lanUrl }),
    auth_fail_limit: edge.authFailLimit,
    auth_fail_window_s: edge.authFailWindow
  }))

  app.get('/admin/setup-text', {
    config,
    onRequest,
    schema: { querystring: SetupTextQuerySchema, response: { 200: SetupTextSchema, ...REFUSALS } }
  }, async request => {
    const { tokens } = await admin.run('list', { revoked: true })
    const token = tokens.find(({ id }) => id === request.query.id)
    if (token === undefined) throw new ReadyroomError('BAD_REQUEST', `There is no token ${request.query.id}.`)
    const lanUrl = edge.lanUrl === '' ? `${request.protocol}://${request.host}` : edge.lanUrl
    const { hook } = await clientScripts()
    return setupText({ ...token, lanUrl, publicUrl: edge.publicUrl, origin: `http://127.0.0.1:${portOf(request, 0)}`, hookSha256: hook.sha256 })
  })
}

export default v1Setup
