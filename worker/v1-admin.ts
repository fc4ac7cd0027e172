import { ReadyroomError } from '../lib/errors'
import { WRONG_LIMIT, WRONG_WINDOW_MS } from '../lib/credential'
import { may, type Principal } from '../lib/principal'
import type { RoomAdmin } from '../lib/room/admin'
import { changeNote, FROM_AFAR } from '../lib/room/admin-http'
import { setupText } from '../lib/room/setup-text'
import { ADMIN, type AdminName } from '../schemas/admin'
import { NoQuerySchema } from '../schemas/api'
import { SetupTextQuerySchema, type Posture } from '../schemas/setup'
import { clientScripts } from './client-scripts'
import { readBody, readQuery } from './request-body'
import { json, type RoutesLog } from './routes'
import type { Settings } from './settings'
import type { Door, For } from './v1'

/** Where identity and rooms are administered, and where the page for it reads what it shows beside them. */
export const ADMINISTRATION: readonly Door[] = [
  ...FROM_AFAR.map((name): Door => ({ method: 'post', path: `/v1/admin/${name}` })),
  { method: 'get', path: '/v1/admin/posture' },
  { method: 'get', path: '/v1/admin/setup-text' }
]

export interface AdminOptions {
  admin: RoomAdmin
  settings: Settings
  version: string
  log: RoutesLog
}

/** The owner's secret mints the first token; afterwards a token that administers the server may, where it was switched on. @throws FORBIDDEN_SCOPE */
function checkAdministers (principal: Principal, { adminApi }: Settings): void {
  if (principal.kind !== 'owner' && !adminApi) {
    throw new ReadyroomError('FORBIDDEN_SCOPE', 'Here only the owner\'s secret administers: set READYROOM_ADMIN_API = "on" to let a token do it that has server:admin.')
  }
  if (!may(principal, 'server:admin')) {
    throw new ReadyroomError('FORBIDDEN_SCOPE', `This needs the scope server:admin, which the token of ${principal.name} (${principal.kind}) does not have.`)
  }
}

function administer (name: AdminName, { admin, settings, log }: AdminOptions): For {
  return async (request, principal) => {
    checkAdministers(principal, settings)
    const input = await readBody(request, ADMIN[name].input)
    readQuery(request, NoQuerySchema)
    const result = await admin.run(name, input)
    const note = changeNote(name, input, { actor: principal.name, address: request.headers.get('cf-connecting-ip') ?? 'unknown' })
    if (note !== undefined) log.warn(note.fields, note.message)
    return json(result)
  }
}

/** How a Worker stands towards the world: there is no machine and no network around it, and nobody in front that it would have to trust. */
async function postureOf ({ admin, settings, version }: AdminOptions): Promise<Posture> {
  const { token, adminApi, enableUi, consoleLanOnly, allowedOrigins, originPolicy, publicUrl } = settings
  return {
    version,
    worker: true,
    token_set: token !== undefined,
    initialised: (await admin.run('list', {})).initialised,
    admin_api: adminApi,
    ui: enableUi,
    console_lan_only: consoleLanOnly,
    host_check: true,
    allowed_hosts: [],
    public_hosts: [],
    allowed_origins: allowedOrigins,
    origin_policy: originPolicy,
    trust_proxy: 'off',
    ...(publicUrl !== '' && { public_url: publicUrl }),
    auth_fail_limit: WRONG_LIMIT,
    auth_fail_window_s: WRONG_WINDOW_MS / 1_000
  }
}

/** What plugins/v1-admin and plugins/v1-setup do on Node, by method and address. */
export function adminHandlers (options: AdminOptions): Map<string, For> {
  const { admin, settings } = options
  const handlers = new Map<string, For>()
  for (const name of FROM_AFAR) handlers.set(`POST /v1/admin/${name}`, administer(name, options))

  handlers.set('GET /v1/admin/posture', async (request, principal) => {
    checkAdministers(principal, settings)
    readQuery(request, NoQuerySchema)
    return json(await postureOf(options))
  })

  handlers.set('GET /v1/admin/setup-text', async (request, principal) => {
    checkAdministers(principal, settings)
    const { id } = readQuery(request, SetupTextQuerySchema)
    const { tokens } = await admin.run('list', { revoked: true })
    const token = tokens.find(known => known.id === id)
    if (token === undefined) throw new ReadyroomError('BAD_REQUEST', `There is no token ${id}.`)
    // Nothing is around a Worker. The name that it was asked under is one that its owner has routed here: the entry sees to that.
    const { origin: here } = new URL(request.url)
    const publicUrl = settings.publicUrl === '' ? here : settings.publicUrl
    return json(setupText({ ...token, lanUrl: '', publicUrl, origin: new URL(publicUrl).origin, hookSha256: clientScripts().hook.sha256 }))
  })
  return handlers
}
