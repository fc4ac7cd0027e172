import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { tooManyWrong, WRONG_ADDRESSES, WRONG_LIMIT, WRONG_WINDOW_MS } from '../lib/credential'

export interface ThrottleOptions {
  /** How many wrong credentials one address may send in one window; 0 counts none. */
  limit?: number | undefined
  /** Milliseconds. */
  windowMs?: number | undefined
}

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
export default fp<ThrottleOptions>(async function throttle (app, { limit = WRONG_LIMIT, windowMs = WRONG_WINDOW_MS }) {
  await app.register(rateLimit, { global: false, cache: WRONG_ADDRESSES })
  // Every setting is given: what is left out would be the host application's.
  const count = app.createRateLimit({
    max: limit,
    timeWindow: windowMs,
    // A caller that has gone meanwhile has no address any more, and hears of nothing.
    keyGenerator: ({ ip = '' }: { ip?: string }) => ip === '' ? ip : normalizeIP(ip),
    allowList: [],
    skipOnError: false
  })

  app.decorate('noteWrongCredential', async function noteWrongCredential (request: FastifyRequest) {
    if (limit === 0) return
    const counted = await count(request)
    if (counted.isAllowed || !counted.isExceeded) return
    throw tooManyWrong(counted.ttlInSeconds)
  })
}, { name: 'readyroom-throttle', fastify: '5.x' })
