import { Router, type IRequest } from 'itty-router'
import { HEADERS } from '../lib/headers'
import { ERRORS, toHttp, toReadyroomError } from '../lib/errors'
import { httpRefusal, methodRefusal } from '../lib/http-refusals'

/** A request with what the router read from its address: `params`, still percent-encoded; and what every answer there says. */
export type Routed = Request & Pick<IRequest, 'params'> & { says?: Record<string, string> }

export type Handler = (request: Routed) => Response | Promise<Response>

/** Stands before a route. It throws, or lets the request through. */
export type Guard = (request: Routed) => void | Promise<void>

export interface Route {
  path: string
  guards?: readonly Guard[]
  /** Answers HEAD as well, unless `noHead` says that there is none. */
  get?: Handler
  noHead?: boolean
  post?: Handler
  /** Headers of whatever is answered there, a refusal too. */
  says?: Record<string, string>
}

export interface RoutesLog {
  error (details: object, message: string): void
  warn (details: object, message: string): void
}

export interface RoutesOptions {
  log: RoutesLog
  /** Stand before every address, one that is not known as well. */
  first?: readonly Guard[]
  /** Addresses that are the same with a slash at the end. */
  sameWithSlash?: ReadonlySet<string>
}

/** Any answer as JSON. */
export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(value), { status, headers: { ...headers, 'content-type': 'application/json; charset=utf-8' } })

/** Letters, digits and `-._~` mean the same with a percent sign as without (RFC 3986, 6.2.2.2): `/%61pi` is `/api`. */
function plainSpelling (request: Request): Request {
  const url = new URL(request.url)
  const pathname = url.pathname.replace(/%(?:2[DE]|3\d|[46][1-9A-F]|[57]\d|[57]A|5F|7E)/gi, code => decodeURIComponent(code))
  if (pathname === url.pathname) return request
  url.pathname = pathname
  return new Request(url, request)
}

/** What is behind `/mcp/` is judged by its own reader; elsewhere the router would forgive a slash at the end. */
const exactAddress = (sameWithSlash: ReadonlySet<string>): Guard => ({ url }) => {
  const { pathname } = new URL(url)
  try {
    decodeURIComponent(pathname)
  } catch (err) {
    throw httpRefusal('unreadableAddress', err)
  }
  if (!pathname.endsWith('/') || pathname === '/' || pathname.startsWith('/mcp/') || sameWithSlash.has(pathname.slice(0, -1))) return
  throw httpRefusal('notFound')
}

/** What the handler has not said itself. A response that came from elsewhere has it all, and cannot be changed. */
function addHeaders (response: Response, { says }: Routed): Response {
  for (const [name, value] of Object.entries({ ...HEADERS, ...says })) {
    if (!response.headers.has(name)) response.headers.set(name, value)
  }
  return response
}

/**
 * A router with the product's refusals: one shape from one table, 404 for an address that is not known, and 405 for a
 * known one with another method, behind the guards of that address. itty-router's own `error` would put every field of
 * what was thrown into the response.
 */
export function createRoutes (
  routes: readonly Route[], { log, first = [], sameWithSlash = new Set() }: RoutesOptions
): { fetch (request: Request): Promise<Response> } {
  const router = Router<Routed, [], Response>({
    before: [...first, exactAddress(sameWithSlash)],
    catch (err: unknown, { method }: Request) {
      const error = toReadyroomError(err)
      // Without the address: a query may carry what no log should hold.
      if (error.code === 'INTERNAL') log.error({ method, err: error.cause ?? error }, 'A request failed for a reason that nobody foresaw')
      else if (ERRORS[error.code].status >= 500) log.warn({ method, err: error.cause ?? error }, error.message)
      const { status, headers, body } = toHttp(error)
      return json(body, status, headers)
    },
    finally: [addHeaders]
  })

  for (const { path, guards: own = [], get, noHead = false, post, says } of routes) {
    const guards = says === undefined ? own : [(request: Routed): void => { request.says = says }, ...own]
    const allow = [...get ? ['GET'] : [], ...get && !noHead ? ['HEAD'] : [], ...post ? ['POST'] : []].join(', ')
    if (get) router.get(path, ...guards, get)
    if (get && !noHead) router.head!(path, ...guards, get)
    if (post) router.post(path, ...guards, post)
    router.all(path, ...guards, () => { throw methodRefusal(allow) })
  }
  router.all('*', () => { throw httpRefusal('notFound') })
  return { fetch: request => router.fetch(plainSpelling(request) as Routed) }
}
