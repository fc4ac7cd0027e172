import Fastify from 'fastify'
import t from 'tap'
import { MemoryTicketStore } from '../../lib/memory-store'
import readyroom, { type Readyroom } from '../../plugins/readyroom'
import { build, PORT } from '../helpers/build'

const host = `127.0.0.1:${PORT}`
const TOKEN = 'a-token-for-the-metrics-route'

t.test('there are no metrics unless they are wanted', async t => {
  const app = await build(t)
  const response = await app.inject({ url: '/metrics', headers: { host } })
  t.equal(response.statusCode, 404)
  t.equal(response.json().error, 'NOT_FOUND')
})

t.test('Prometheus reads its own text format, with the token where one is set', async t => {
  const app = await build(t, { metrics: true, token: TOKEN })
  await app.readyroom.ask({ stream: 'a secret project', question: 'May I see the secret?', context: 'a secret' })
  const refused = await app.inject({ url: '/metrics' })
  t.equal(refused.statusCode, 401)
  t.notMatch(refused.body, /readyroom_/)
  const response = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${TOKEN}` } })
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^text\/plain; version=0\.0\.4; charset=utf-8$/)
  t.match(response.body, /^# HELP readyroom_tickets_pending .+\n# TYPE readyroom_tickets_pending gauge\n/m)
  t.match(response.body, /^readyroom_tickets_pending\{urgency="normal"\} 1$/m)
  t.match(response.body, /^# TYPE readyroom_commit_duration_seconds histogram$/m)
  t.match(response.body, /^readyroom_build_info\{version="0\.0\.0-test"\} 1$/m)
  t.notMatch(response.body, /secret/, 'numbers only')
  t.notOk(response.headers['etag'])
})

t.test('the guards stand before it as before the API', async t => {
  const app = await build(t, { metrics: true })
  const status = async (headers: Record<string, string>, method: 'GET' | 'POST' = 'GET', url = '/metrics'): Promise<number> =>
    (await app.inject({ method, url, headers })).statusCode
  t.equal(await status({ host }), 200)
  t.equal(await status({ host: 'evil.example' }), 421)
  t.equal(await status({ host, origin: 'https://evil.example' }), 403)
  t.equal(await status({ host, 'sec-fetch-site': 'cross-site' }), 403)
  t.equal(await status({ host }, 'GET', '/metrics?token=x'), 400)
  t.equal(await status({ host, 'content-type': 'application/json' }, 'POST'), 405)
})

t.test('two instances in one application count apart', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const name of ['one', 'two']) {
    await app.register(readyroom, { store: new MemoryTicketStore(), port: PORT, prefix: `/${name}`, decorator: name, metrics: true, stream: 'host' })
  }
  await (app as unknown as { one: Readyroom }).one.ask({ question: 'q' })
  const pending = async (name: string): Promise<string | undefined> =>
    /^readyroom_tickets_pending\{urgency="normal"\} (\d+)$/m.exec((await app.inject({ url: `/${name}/metrics`, headers: { host } })).body)?.[1]
  t.equal(await pending('one'), '1')
  t.equal(await pending('two'), '0')
})
