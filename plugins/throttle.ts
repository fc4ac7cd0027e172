import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ReadyroomError } from '../lib/errors'

/** How many wrong credentials one address may send in one window, in milliseconds. */
const WRONG_LIMIT = 20
const WINDOW_MS = 5 * 60_000
/** How many addresses are remembered; the longest unseen is forgotten first. */
const ADDRESSES = 5_000

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts a wrong credential. @throws TOO_MANY_REQUESTS when its address has sent too many. */
    noteWrongCredential (request: FastifyRequest): Promise<void>
  }
}

/**
 * Slows the guessing of a token, and nothing else: only wrong credentials are counted and only they are refused, so that
 * nobody can lock the owner out. IPv6 counts by its /64, which is what one guesser can use freely.
 */
export default fp(async function throttle (app) {
  await app.register(rateLimit, { global: false, cache: ADDRESSES })
  // Every setting is given: what is left out would be the host application's.
  const count = app.createRateLimit({
    max: WRONG_LIMIT, timeWindow: WINDOW_MS, keyGenerator: request => normalizeIP(request.ip), allowList: [], skipOnError: false
  })

  app.decorate('noteWrongCredential', async function noteWrongCredential (request: FastifyRequest) {
    const counted = await count(request)
    if (counted.isAllowed || !counted.isExceeded) return
    throw new ReadyroomError('TOO_MANY_REQUESTS',
      `Too many wrong tokens came from this address. Check the token, and try again in ${counted.ttlInSeconds} seconds; the right one is admitted at once.`,
      { headers: { 'retry-after': String(counted.ttlInSeconds) } })
  })
}, { name: 'readyroom-throttle', fastify: '5.x' })
