import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { checkStream } from '../lib/lifecycle'
import { FileTicketStore } from '../lib/node/file-store'
import { Doors } from '../lib/doors'
import { Identity } from '../lib/identity'
import { EDGE_DEFAULTS, type Edge } from '../lib/node/edge-settings'
import { HostDesk } from '../lib/node/host-desk'
import { VERSION } from '../lib/node/version'
import type { ToolSet } from '../lib/mcp'
import type { OriginPolicy } from '../lib/origin'
import { RoomAdmin } from '../lib/room/admin'
import type { RoomDesk } from '../lib/room/desk'
import type { TicketStore } from '../lib/store'
import { parse } from '../lib/validate'
import { StreamSchema } from '../schemas/ticket'
import auth from './auth'
import bodies from './bodies'
import clientScripts from './client-scripts'
import closing, { lastAnswers } from './closing'
import consoleGate from './console-gate'
import errors from './errors'
import events, { type EventsOptions } from './events'
import headers from './headers'
import health from './health'
import host from './host'
import internal, { type InternalOptions } from './internal'
import mcp from './mcp'
import methods from './methods'
import metricsRoute from './metrics'
import openapi from './openapi'
import origin from './origin'
import page from './page'
import pipelining from './pipelining'
import joined from './rooms'
import store from './store'
import sweeping from './sweeping'
import throttle from './throttle'
import ticketRoutes from './tickets'
import v1 from './v1'
import v1Admin from './v1-admin'
import v1Setup from './v1-setup'
import v1Stream from './v1-stream'

/** What a host application can say. Every option but the place of the tickets has a default. */
export interface ReadyroomOptions {
  /** Where tickets live. It is loaded here and closed with the application. Left out, it is the folder of `stateDir`. */
  store?: TicketStore | undefined
  /** The folder that holds the tickets, where no `store` is given. One process at a time can have it. */
  stateDir?: string | undefined
  /** Where we stand in the host application. */
  prefix?: string
  /** What the host application calls us: `app.readyroom`, or another name for each further instance. */
  decorator?: string | undefined
  /** Who asks, where `ask` of the decorator does not say. 1 to 100 characters. */
  stream?: string | undefined
  /** Unset means that whoever reaches the port may act, and that only loopback addresses are answered. */
  token?: string | undefined
  /** Origins beside our own, each `scheme://host[:port]`. */
  allowedOrigins?: readonly string[] | undefined
  /** What becomes of a missing Origin on `/mcp`: refused with `strict`, the default, admitted with `spec`. */
  originPolicy?: OriginPolicy | undefined
  /** Who may frame the page, beside its own origin. */
  frameAncestors?: readonly string[] | undefined
  /** Whether there is the heads-up page. It needs the API, and goes with it where left out. */
  page?: boolean | undefined
  /** Whether there is `/api`. True where left out. */
  api?: boolean | undefined
  /** Whether there is `/mcp`. True where left out. */
  mcp?: boolean | undefined
  /** Whether there is `/metrics`, for Prometheus, behind the token. Off where left out. */
  metrics?: boolean | undefined
  /** The port we listen on, where a connection does not say, as in a test that injects its requests. */
  port?: number | undefined
  /** Whether what no route matches is ours to answer. A host keeps its own answer, unless we stand under a prefix. */
  ownsNotFound?: boolean | undefined
  /** Which process this is, in the audit log; left out, a new name is made. */
  instance?: string | undefined
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined
}

/** And what only we say, when the whole application is ours. */
export interface ServiceOptions extends ReadyroomOptions {
  /** Left out, this release's. */
  version?: string | undefined
  /** What the other processes of this machine need to know; without it there are no routes for them. */
  internal?: InternalOptions | undefined
  /** Which tools are offered over HTTP to whoever needs no token. Those of the tickets where left out. */
  tools?: ToolSet | undefined
  /** Identity and the rooms. It is opened and closed by whoever gives it. */
  rooms?: RoomDesk | undefined
  /** Who may reach it, and where. */
  edge?: Partial<Edge> | undefined
  /** Whether forwarding headers are believed, and of whom: to be told, for whoever builds the application sees to it. */
  trustProxy?: boolean | string | undefined
  /** The folder of the pages. */
  pageRoot?: string | undefined
  events?: EventsOptions | undefined
}

/** What a host application gets. */
export type Readyroom = HostDesk

declare module 'fastify' {
  interface FastifyInstance { readyroom: Readyroom }
}

/** @throws Error naming the option: a guard that is set up wrongly must not stand open. */
function check ({ store, stateDir, token, stream, allowedOrigins = [], originPolicy = 'strict', page, api = true }: ReadyroomOptions): void {
  if ((store === undefined) === (stateDir === undefined)) throw new Error('store, stateDir: give one of them; tickets must live somewhere')
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw new Error('token: must be visible ASCII characters without spaces')
  if (stream !== undefined) {
    try {
      checkStream(parse(StreamSchema, stream, 'stream'))
    } catch (err) {
      throw new Error(`stream: ${(err as Error).message}`, { cause: err })
    }
  }
  if (page && !api) throw new Error('page: it shows what the API tells it; leave the api in, or the page out')
  for (const allowed of allowedOrigins) {
    if (!URL.canParse(allowed) || new URL(allowed).origin !== allowed) {
      throw new Error(`allowedOrigins: ${JSON.stringify(allowed)} is not an origin; write scheme://host[:port]`)
    }
  }
  if (originPolicy !== 'strict' && originPolicy !== 'spec') throw new Error(`originPolicy: must be strict or spec; got ${JSON.stringify(originPolicy)}`)
}

/** The whole of it in a scope of its own: nothing of it reaches the application around it but one decorator. */
async function scope (app: FastifyInstance, options: ServiceOptions & { opened: (desk: Readyroom) => void }): Promise<void> {
  const { token, port = 0, allowedOrigins = [], originPolicy = 'strict', prefix = '', ownsNotFound = prefix !== '' } = options
  const { version = VERSION, instance = randomUUID(), api: hasApi = true, page: hasPage = hasApi, mcp: hasMcp = true } = options
  const { rooms } = options
  const edge: Edge = { ...EDGE_DEFAULTS, ...options.edge }
  // Where it is known to be, its own pages may ask it.
  const known = [edge.lanUrl, edge.publicUrl].filter(url => url !== '').map(url => new URL(url).origin)
  const own = { port, allowedOrigins: known.length === 0 ? allowedOrigins : [...allowedOrigins, ...known] }
  const { allowedHosts, publicHosts, dnsRebindProtection: protection, authFailLimit: limit, authFailWindow } = edge
  const identity = new Identity({ token, tokens: rooms?.tokens, now: options.now })

  await app.register(pipelining)
  await app.register(closing)
  await app.register(errors, { ownsNotFound })
  await app.register(headers)
  await app.register(bodies)
  await app.register(methods)
  await app.register(throttle, { limit, windowMs: authFailWindow * 1_000 })
  const guarded = { port, allowedOrigins, token, protection }
  await app.register(host, { ...guarded, allowedHosts: allowedHosts.length > 0 ? [...allowedHosts, ...publicHosts] : [] })
  // Loaded when it is wanted: it would cost every start.
  const metrics = options.metrics ? new (await import('../lib/node/metrics')).Metrics({ version }) : undefined
  const tickets = options.store ?? new FileTicketStore({ dir: options.stateDir!, instance, log: app.log })
  await app.register(store, { store: metrics?.measured(tickets) ?? tickets, now: options.now })

  if (rooms !== undefined) {
    const intervalMs = edge.pruneInterval === undefined ? undefined : edge.pruneInterval * 1_000
    await app.register(joined, { rooms, version, announceUpgrades: edge.announceUpgrades !== false })
    await app.register(sweeping, { rooms, prune: edge.prune, intervalMs, now: options.now })
  }
  const doors = new Doors({ desk: app.desk, identity, rooms, ownerTools: options.tools })

  await app.register(health, { version, instance })
  if (hasPage) {
    const how = { root: options.pageRoot, frameAncestors: [...options.frameAncestors ?? []] }
    await app.register(page, how)
    if (rooms !== undefined) {
      await app.register(async function consoles (app) {
        if (edge.consoleLanOnly) await app.register(consoleGate, edge)
        if (edge.enableUi) await app.register(page, { ...how, file: 'ui.html', paths: ['/ui', '/ui/'] })
        if (edge.adminApi) await app.register(page, { ...how, file: 'admin.html', paths: ['/admin', '/admin/'] })
      })
    }
  }
  if (hasApi) {
    await app.register(async function api (app) {
      await app.register(origin, { ...own, policy: 'page' })
      await app.register(auth, { identity })
      await app.register(ticketRoutes, { rooms })
      await app.register(events, { ...options.events, identity, rooms })
      await app.register(openapi, { version })
    }, { prefix: '/api' })
  }
  if (rooms !== undefined) {
    const admin = new RoomAdmin(rooms, options.now)
    await app.register(async function room (app) {
      await app.register(origin, { ...own, policy: 'page' })
      await app.register(auth, { identity })
      await app.register(clientScripts, { version })
      await app.register(v1, { doors, rooms })
      await app.register(v1Admin, { admin, identity, isOn: edge.adminApi })
      await app.register(v1Setup, { admin, identity, edge, token, trustProxy: options.trustProxy, allowedOrigins, originPolicy, version })
      await app.register(v1Stream, { ...options.events, rooms, identity })
    }, { prefix: '/v1' })
  }
  if (hasMcp) {
    await app.register(async function agents (app) {
      await app.register(origin, { ...own, policy: originPolicy })
      await app.register(auth, { identity })
      await app.register(mcp, { version, doors })
    }, { prefix: '/mcp' })
  }
  if (metrics !== undefined) {
    await app.register(async function operators (app) {
      await app.register(origin, { ...own, policy: 'page' })
      await app.register(auth, { identity })
      await app.register(metricsRoute, { metrics })
    }, { prefix: '/metrics' })
  }
  if (options.internal !== undefined) {
    const { internal: settings } = options
    await app.register(async function processes (app) {
      await app.register(origin, { ...own, policy: 'page' })
      await app.register(internal, { ...settings, doors })
    }, { prefix: '/internal' })
  }

  app.refuseOtherMethods()
  await app.register(lastAnswers)
  options.opened(new HostDesk({ desk: app.desk, doors, presence: app.presence, stream: options.stream, log: app.log }))
}

const readyroom: FastifyPluginAsync<ServiceOptions> = async function readyroom (host, options) {
  check(options)
  const { promise, resolve } = Promise.withResolvers<Readyroom>()
  await host.register(scope, { ...options, opened: resolve })
  host.decorate(options.decorator ?? 'readyroom', await promise)
}

/** Ready Room as a Fastify plugin. Registered twice, each under a prefix and with a decorator of its own, it is two. */
export default fp(readyroom, { name: 'readyroom', fastify: '5.x' })
