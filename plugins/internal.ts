import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import {
  AttachQuerySchema, DaemonStatusSchema, DoneSchema, HandOverBodySchema, IdentitySchema, JoinReplySchema, NonceSchema, ProveBodySchema,
  ProveReplySchema, SealedBodySchema, ToolCallSchema, ToolReplySchema, type DaemonStatus, type Identity, type JoinReply, type ProveReply
} from '../schemas/internal'
import type { Doors } from '../lib/doors'
import { AdminCallSchema } from '../schemas/admin'
import { BODY_LIMIT } from '../lib/bodies'
import { FORWARDING } from '../lib/console-gate'
import { ReadyroomError } from '../lib/errors'
import { isLoopbackAddress } from '../lib/origin'
import { parse } from '../lib/validate'
import type { InternalOptions } from '../lib/node/internal-options'
import { CREDENTIAL, NONCE_HEADER, TAG_HEADER } from '../lib/node/link'
import { callKey, equalProofs, proofOf, responseTag, seal, tokenTag, unseal } from '../lib/node/proof'
import { runToolCall } from '../lib/node/tool-call'
import { RoomAdmin } from '../lib/room/admin'
import type { RoomsSummary } from '../lib/room/commands/attention'
import type { RoomDesk } from '../lib/room/desk'
import { uploadLimit } from '../lib/room/http'
import { isNewer } from '../lib/node/versions'

export type { InternalOptions }

/** How the other Ready Room processes of this machine and this user find, prove, call and end the daemon. */
const internal: FastifyPluginAsync<InternalOptions & { doors?: Doors | undefined }> = async function internal (app, options) {
  const { secret, instance, release, settings, clients, doors } = options
  const proven = new WeakSet<FastifyRequest>()
  let closing = false

  app.addHook('preClose', async () => {
    closing = true
    clients.endAll()
  })

  app.addHook('onRequest', async request => {
    if (!isFromThisMachine(request)) throw new ReadyroomError('NOT_FOUND', 'Only processes of this machine may call this.')
  })

  app.post('/prove', { schema: { response: { 200: ProveReplySchema } } }, async (request): Promise<ProveReply> => {
    const { nonce } = parse(ProveBodySchema, request.body, 'The body')
    const port = portOf(request)
    return { instance, port, ...release, proof: proofOf(secret, nonce, instance, port) }
  })

  app.get('/identity', { exposeHeadRoute: false, schema: { response: { 200: IdentitySchema } } }, async (): Promise<Identity> => ({
    readyroom: true,
    ...release,
    instance,
    uid: process.getuid?.() ?? -1,
    ...(settings.token === undefined && { state_dir: settings.stateDir })
  }))

  app.register(async function forClients (app) {
    const key = `${CREDENTIAL} ${callKey(secret)}`

    app.addHook('onRequest', async request => {
      if (!equalProofs(request.headers.authorization ?? '', key)) {
        throw new ReadyroomError('UNAUTHORIZED', 'Only the clients of this daemon may call this.')
      }
      parse(NonceSchema, request.headers[NONCE_HEADER], `The header ${NONCE_HEADER}`)
      proven.add(request)
    })

    app.addHook('preValidation', async request => {
      if (request.method === 'POST') request.body = opened(request.body)
    })

    app.addHook('onSend', async (request, reply, payload) => {
      // A failure while closing is no refusal: left untagged, it is asked again of whoever is the daemon next.
      const retry = closing && reply.statusCode >= 500
      if (proven.has(request) && !retry && typeof payload === 'string') reply.header(TAG_HEADER, tag(request, reply.statusCode, payload))
      return payload
    })

    // As much as an agent may send over HTTP, and the frame around it, sealed.
    const bodyLimit = Math.ceil((BODY_LIMIT + uploadLimit(doors?.rooms?.maxFileBytes ?? 0)) * 4 / 3)
    app.post('/tool-call', { bodyLimit, schema: { response: { 200: ToolReplySchema } } }, (request, reply) =>
      runToolCall(app.desk, parse(ToolCallSchema, request.body, 'The body'), abortedWith(reply), doors, written => { reply.raw.once('finish', written) }))

    app.get('/status', { exposeHeadRoute: false, schema: { response: { 200: DaemonStatusSchema } } }, async request => {
      await app.desk.expireDue()
      const rooms = await summaryOf(doors?.rooms)
      return { ...statusOf(request), ...(rooms && { rooms }) }
    })

    app.get('/join', { exposeHeadRoute: false, schema: { response: { 200: JoinReplySchema } } }, async (request): Promise<JoinReply> => ({
      status: statusOf(request),
      token_tag: tokenTag(secret, settings.token),
      sealed: seal(secret, 'settings', JSON.stringify(settings))
    }))

    app.get('/attach', { exposeHeadRoute: false }, (request, reply) => {
      const { pid, version } = request.query as Record<string, string>
      const client = parse(AttachQuerySchema, { pid: Number(pid), version }, 'The query')
      const head = tag(request, 200, '')
      reply.hijack()
      const { raw } = reply
      raw.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', [TAG_HEADER]: head })
      raw.flushHeaders()
      const left = clients.add({ ...client, say: word => { raw.write(`${word}\n`) }, end: () => { raw.end() } })
      raw.on('close', left)
      raw.on('error', left)
    })

    app.post('/admin', async request => {
      const { rooms } = doors ?? {}
      if (rooms === undefined) throw new ReadyroomError('ROOM_NOT_FOUND', 'This daemon has no rooms.')
      const { name, input } = parse(AdminCallSchema, request.body, 'The body')
      app.log.warn({ admin: name }, 'Administered from the command line')
      return new RoomAdmin(rooms).run(name, input)
    })

    app.post('/stop', { schema: { response: { 200: DoneSchema } } }, async (_request, reply) => {
      onceSent(reply, options.onStop)
      return { done: true }
    })

    app.post('/hand-over', { schema: { response: { 200: DoneSchema } } }, async (request, reply) => {
      const to = parse(HandOverBodySchema, request.body, 'The body')
      if (!isNewer(to, release)) {
        throw new ReadyroomError('BAD_REQUEST', `Version ${to.version} is not newer than ${release.version}, which keeps the daemon.`)
      }
      onceSent(reply, () => options.onHandOver(to))
      return { done: true }
    })
  })

  /** @throws BAD_REQUEST where it was not sealed under our secret. */
  function opened (body: unknown): unknown {
    const { sealed } = parse(SealedBodySchema, body, 'The body')
    try {
      return JSON.parse(unseal(secret, 'request', sealed))
    } catch (err) {
      throw new ReadyroomError('BAD_REQUEST', 'The body was not sealed for this daemon.', { cause: err })
    }
  }

  function tag (request: FastifyRequest, status: number, payload: string): string {
    return responseTag(secret, String(request.headers[NONCE_HEADER]), request.originalUrl, status, payload)
  }

  /** Undefined where there are none, or where they cannot be read: what runs is told all the same. */
  async function summaryOf (rooms: RoomDesk | undefined): Promise<RoomsSummary | undefined> {
    if (rooms?.isOpen !== true) return undefined
    return rooms.run('summary', rooms.system(), {}).catch(err => {
      app.log.warn({ err }, 'The rooms cannot be read; the status is told without them')
      return undefined
    })
  }

  function statusOf (request: FastifyRequest): DaemonStatus {
    return {
      pid: process.pid,
      port: portOf(request),
      ...release,
      instance,
      started_at: options.startedAt,
      state_dir: settings.stateDir,
      bind: settings.bind,
      token_set: settings.token !== undefined,
      lingering: options.lingering,
      pending: app.desk.pendingCount,
      waiting: app.desk.waiting,
      pages: app.presence.streams,
      clients: clients.list()
    }
  }

  /** The port that was reached, which is ours by right: nobody else can listen on it meanwhile. */
  function portOf (request: FastifyRequest): number {
    return request.socket.localPort ?? settings.port
  }
}

export default internal

/** Frees the waiter of a client that has gone. */
function abortedWith (reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}

/** `then` may close the server, so it comes after the answer. */
function onceSent (reply: FastifyReply, then: () => void): void {
  reply.raw.once('close', () => setImmediate(then))
  // The caller keeps its connection for more; this one is its last.
  reply.header('connection', 'close')
}

/** A proxy or a tunnel on this machine says that it is one; what comes through it does not come from this machine. */
function isFromThisMachine ({ socket, headers }: FastifyRequest): boolean {
  const { remoteAddress = '', localAddress } = socket
  return (isLoopbackAddress(remoteAddress) || remoteAddress === localAddress) &&
    headers.origin === undefined && !Object.keys(headers).some(name => FORWARDING.test(name))
}
