import adminPage from '../public/admin.html'
import page from '../public/index.html'
import roomPage from '../public/ui.html'
import { authenticate, unauthorized } from '../lib/credential'
import { ReadyroomError } from '../lib/errors'
import { describeApi } from '../lib/openapi'
import { bearerOf } from '../lib/token'
import { checkOrigin, isLoopbackName, type OriginRules } from '../lib/origin'
import { NoQuerySchema } from '../schemas/api'
import { createPage } from './page'
import { readQuery } from './request-body'
import { addresses, AGENTS, API } from './router'
import { createRoutes, json, type Guard, type Handler, type Route, type RoutesLog } from './routes'
import type { Settings } from './settings'
import { UnknownTokens } from './unknown-tokens'
import { V1, type Door } from './v1'
import { VERSION } from './version'
import { WrongCredentials } from './wrong-credentials'

export interface EntryOptions {
  settings: Settings
  /** Hands a request to the queue. Called only for a request that may act. */
  queue: (request: Request) => Promise<Response>
  /** Whether this deployment has rooms, and with them tokens beside the owner's. */
  hasRooms: boolean
  log: RoutesLog
  /** The wall clock, in milliseconds. */
  now?: () => number
}

/**
 * What stands before the queue. The page, an unknown address and whoever may not act are answered here, so that junk
 * wakes no object.
 */
export async function createEntry ({ settings, queue, hasRooms, log, now }: EntryOptions): Promise<{ fetch (request: Request): Promise<Response> }> {
  const { token, allowedOrigins, originPolicy, frameAncestors } = settings
  const instance = crypto.randomUUID()
  const wrong = new WrongCredentials(now)
  const unknown = new UnknownTokens()
  if (settings.warning !== undefined) log.warn({}, settings.warning)

  /**
   * Over TLS the certificate answers for the name, and only names that the operator has routed lead here. Over plain HTTP
   * any name could, that of a page whose address was re-bound to `wrangler dev` as well; and a token would travel in the clear.
   */
  const host: Guard = ({ url }) => {
    const { protocol, hostname, origin, host } = new URL(url)
    if (protocol === 'https:' || isLoopbackName(hostname) || allowedOrigins.includes(origin)) return
    throw new ReadyroomError('FORBIDDEN_HOST', `Over plain HTTP this Ready Room answers to a loopback name only. Use https://${host.slice(0, 200)}, ` +
      'or list the origin in READYROOM_ALLOWED_ORIGINS.')
  }

  const origin = (policy: OriginRules['policy']): Guard => ({ url, headers }) => {
    const example = new URL(url).origin
    const own = { allowedOrigins: [example, ...allowedOrigins] }
    checkOrigin(headers.get('origin') ?? undefined, headers.get('sec-fetch-site') ?? undefined, { policy, own, example })
  }

  const noteWrong = (headers: Headers): void => { wrong.note(headers.get('cf-connecting-ip') ?? 'unknown') }

  const credential: Guard = async ({ headers }) => {
    if (token === undefined) {
      throw unauthorized('This Ready Room has no token yet, so nobody may act: set its secret with `wrangler secret put READYROOM_TOKEN`; ' +
        'while developing, write it into .dev.vars and start again.')
    }
    // Whose token it is, if anybody's, the queue knows.
    if (hasRooms && unknown.isWorthAsking(bearerOf(headers.get('authorization')))) return
    await authenticate(headers.get('authorization'), token, () => noteWrong(headers))
  }

  const hand: Handler = async request => {
    let response: Response
    try {
      response = await queue(request)
    } catch (err) {
      throw new ReadyroomError('STORE_UNAVAILABLE',
        'The queue could not be reached, or was restarted in mid-call. Read the ticket to see whether a change was saved, and try again in a moment.', { cause: err })
    }
    if (response.status === 401) {
      unknown.note(bearerOf(request.headers.get('authorization')))
      noteWrong(request.headers)
    }
    return response
  }
  const handed = (doors: readonly Door[], guards: Guard[]): Route[] => addresses(doors, () => hand).map(route => ({ ...route, guards }))

  const forPage = [origin('page'), credential]
  const consoles = hasRooms ? await consolePages(settings) : []
  return createRoutes([
    { path: '/', get: await createPage(page, frameAncestors) },
    ...consoles,
    {
      path: '/healthz',
      get: () => new Response('ok', { headers: { 'content-type': 'text/plain; charset=utf-8', 'x-readyroom': `${VERSION}; instance=${instance}` } })
    },
    ...handed(API, forPage),
    { path: '/api/events', guards: forPage, noHead: true, get: noEvents },
    { path: '/api/openapi.json', guards: forPage, get: description },
    ...handed(hasRooms ? V1 : [], forPage),
    ...handed(AGENTS, [origin(originPolicy), credential])
  ], { log, first: [host], sameWithSlash: new Set(consoles.map(({ path }) => path)) })
}

/** The room's page and the administration's, only where the owner has said that something stands before them. */
async function consolePages ({ consoleLanOnly, enableUi, frameAncestors }: Settings): Promise<Route[]> {
  if (consoleLanOnly) return []
  const admin: Route = { path: '/admin', get: await createPage(adminPage, frameAncestors) }
  return enableUi ? [{ path: '/ui', get: await createPage(roomPage, frameAncestors) }, admin] : [admin]
}

const description: Handler = async request => {
  readQuery(request, NoQuerySchema)
  return json(await describeApi(VERSION))
}

/** A stream held open would keep the object awake for every open page, day and night. */
const noEvents: Handler = request => {
  readQuery(request, NoQuerySchema)
  return new Response('No event stream here: poll GET /api/tickets.\n', { status: 501, headers: { 'content-type': 'text/plain; charset=utf-8' } })
}
