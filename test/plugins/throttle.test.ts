import { mock } from 'node:test'
import t from 'tap'
import { build, PORT, type TestOptions } from '../helpers/build'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import throttle from '../../plugins/throttle'

const TOKEN = 'a-token-of-some-length-here'

interface From { remoteAddress?: string, headers?: Record<string, string> }

/** How each of so many guesses from one address was answered. */
async function guesses (app: FastifyInstance, count: number, from: From = {}): Promise<number[]> {
  const codes: number[] = []
  for (let i = 0; i < count; i++) {
    const headers = { host: `127.0.0.1:${PORT}`, authorization: `Bearer wrong-${i}`, ...from.headers }
    codes.push((await app.inject({ url: '/api/tickets', ...(from.remoteAddress && { remoteAddress: from.remoteAddress }), headers })).statusCode)
  }
  return codes
}

const TWENTY = Array<number>(20).fill(401)
const options: TestOptions = { token: TOKEN }

t.test('each address is counted for itself', async t => {
  const app = await build(t, options)
  t.strictSame(await guesses(app, 21, { remoteAddress: '192.0.2.1' }), [...TWENTY, 429])
  t.strictSame(await guesses(app, 21, { remoteAddress: '192.0.2.2' }), [...TWENTY, 429])
  t.strictSame(await guesses(app, 1, { remoteAddress: '::ffff:192.0.2.1' }), [429], 'however the address is written')
})

t.test('IPv6 is counted by the network that one guesser has', async t => {
  const app = await build(t, options)
  t.strictSame(await guesses(app, 20, { remoteAddress: '2001:db8:1:2::1' }), TWENTY)
  t.strictSame(await guesses(app, 1, { remoteAddress: '2001:db8:1:2:ffff::9' }), [429])
  t.strictSame(await guesses(app, 1, { remoteAddress: '2001:db8:1:3::1' }), [401])
})

t.test('a forwarded address counts only where a proxy is trusted', async t => {
  const plain = await build(t, options)
  for (let i = 0; i < 20; i++) await guesses(plain, 1, { headers: { 'x-forwarded-for': `192.0.2.${i}` } })
  t.strictSame(await guesses(plain, 1, { headers: { 'x-forwarded-for': '198.51.100.1' } }), [429], 'a header that anybody can write changes nothing')

  const behind = await build(t, { ...options, trustProxy: true })
  t.strictSame(await guesses(behind, 21, { headers: { 'x-forwarded-for': '192.0.2.1' } }), [...TWENTY, 429])
  t.strictSame(await guesses(behind, 1, { headers: { 'x-forwarded-for': '192.0.2.2' } }), [401])
})

t.test('after five minutes the count begins anew; until then Retry-After says how long', async t => {
  const app = await build(t, options)
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  t.teardown(() => mock.timers.reset())
  t.strictSame(await guesses(app, 21), [...TWENTY, 429])
  mock.timers.tick(299_000)
  const late = await app.inject({ url: '/api/tickets', headers: { authorization: 'Bearer wrong' } })
  t.strictSame([late.statusCode, late.headers['retry-after']], [429, '1'])
  mock.timers.tick(999)
  t.strictSame(await guesses(app, 1), [429])
  mock.timers.tick(1)
  t.strictSame(await guesses(app, 21), [...TWENTY, 429])
})

t.test('guesses that come at once are counted one by one', async t => {
  const app = await build(t, options)
  const codes = (await Promise.all(Array.from({ length: 50 }, () => guesses(app, 1)))).flat()
  t.equal(codes.filter(code => code === 401).length, 20)
  t.equal(codes.filter(code => code === 429).length, 30)
})

t.test('the right token is admitted in the middle of it, and does not begin the count anew', async t => {
  const app = await build(t, options)
  await guesses(app, 25)
  t.equal((await app.inject({ url: '/api/tickets', headers: { authorization: `Bearer ${TOKEN}` } })).statusCode, 200)
  t.strictSame(await guesses(app, 1), [429])
})

t.test('a guesser who is gone before the count is a wrong credential, and no failure of ours', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(throttle)
  await app.ready()
  // A connection that has ended has no address any more.
  const gone = { ip: undefined, routeOptions: { config: {} } } as unknown as FastifyRequest
  for (let i = 0; i < 20; i++) t.equal(await app.noteWrongCredential(gone), undefined)
})
