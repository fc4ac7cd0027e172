import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'

/** How long answers under way may take once the application closes, in milliseconds. */
const GRACE_MS = 800

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborts when the application begins to close: whoever holds a response open ends it then. */
    closing: AbortSignal
    /** Resolves when every answer under way is out, or the grace is over. */
    answersOut (): Promise<void>
  }
}

/** Closes in order: nothing new, waits and streams ended, their last bytes out; only then are connections cut. */
export default fp(async function closing (app) {
  const controller = new AbortController()
  const open = new Set<ServerResponse>()
  let idle: (() => void) | undefined

  app.decorate('closing', controller.signal)

  app.decorate('answersOut', async function answersOut () {
    if (open.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    idle = resolve
    const timer = setTimeout(resolve, GRACE_MS)
    await promise
    clearTimeout(timer)
  })

  app.addHook('onRequest', async (_request, { raw }) => {
    if (controller.signal.aborted) {
      throw new ReadyroomError('STORE_UNAVAILABLE', 'This Ready Room is stopping. Ask again in a moment.', { headers: { connection: 'close' } })
    }
    // Behind an asynchronous hook of a host application it may be closed already, and would say so no more.
    if (raw.destroyed) return
    open.add(raw)
    raw.once('close', () => {
      if (open.delete(raw) && open.size === 0) idle?.()
    })
  })

  app.addHook('preClose', async () => { controller.abort() })
}, { name: 'readyroom-closing', fastify: '5.x' })

/** Registered last, so that its turn comes when every other plugin has ended what it holds open. */
export async function lastAnswers (app: FastifyInstance): Promise<void> {
  app.addHook('preClose', () => app.answersOut())
}
