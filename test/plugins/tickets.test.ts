import t from 'tap'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { MemoryTicketStore } from '../../lib/memory-store'
import { build, Clock, PORT } from '../helpers/build'
import { at, decide, START } from '../helpers/decisions'
import type { Ticket } from '../../schemas/ticket'

const headers = { host: `127.0.0.1:${PORT}` }
const get = (app: FastifyInstance, url: string): Promise<LightMyRequestResponse> => app.inject({ url, headers })
const post = (app: FastifyInstance, url: string, payload: InjectOptions['payload']): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'POST', url, headers, ...(payload !== undefined && { payload }) })

t.test('an answer can be undone at 4:59.999 and at 5:00.000, and not at 5:00.001', async t => {
  for (const [ms, status] of [[299_999, 200], [300_000, 200], [300_001, 409]] as const) {
    const clock = new Clock()
    const app = await build(t, { clock })
    const { id } = await app.readyroom.desk.ask({ stream: 'a', question: 'q' })
    await post(app, '/api/answer', { id, answer: 'yes' })
    clock.by(ms)
    const response = await post(app, '/api/undo', { id })
    t.equal(response.statusCode, status, `${ms} ms`)
    if (status === 409) t.match(response.json(), { error: 'UNDO_WINDOW_PASSED', ticket: { id, status: 'answered', answer: 'yes' } })
    else t.match(response.json(), { id, status: 'pending', rev: 3 })
  }
})

t.test('an undo after the ticket\'s own time gives it five minutes more, and the default does not come before', async t => {
  const clock = new Clock()
  const app = await build(t, { clock })
  const { id } = await app.readyroom.desk.ask({ stream: 'a', question: 'q', default_answer: 'no', timeout_seconds: 60 })
  await post(app, '/api/answer', { id, answer: 'yes' })
  clock.by(200_000)
  t.match((await post(app, '/api/undo', { id })).json(), { status: 'pending', expires_at: at(500_000) })
  clock.by(299_999)
  t.match((await get(app, `/api/tickets/${id}`)).json(), { status: 'pending' })
  clock.by(1)
  t.match((await get(app, `/api/tickets/${id}`)).json(), { status: 'expired', answer: 'no', answered_by: 'default', answered_at: at(500_000) })
})

t.test('a ticket that expired between the list and the answer is 409 with what became of it', async t => {
  const clock = new Clock()
  const app = await build(t, { clock })
  const { id } = await app.readyroom.desk.ask({ stream: 'a', question: 'q', default_answer: 'no', timeout_seconds: 1 })
  t.match((await get(app, '/api/tickets')).json(), { tickets: [{ id, status: 'pending' }], now: at() })
  clock.by(1_000)
  const late = await post(app, '/api/answer', { id, answer: 'yes' })
  t.equal(late.statusCode, 409)
  t.match(late.json(), { error: 'TICKET_SETTLED', message: /its default answer "no" was applied/, ticket: { id, status: 'expired', answer: 'no', answered_by: 'default' } })
  const undone = await post(app, '/api/undo', { id })
  t.match([undone.statusCode, undone.json()], [409, { error: 'TICKET_SETTLED', ticket: { id, status: 'expired' } }], 'a default is no answer to take back')
})

t.test('a cancelled ticket is 409 for the person, whatever they want', async t => {
  const app = await build(t)
  const { id } = await app.readyroom.desk.ask({ stream: 'a', question: 'q' })
  await app.readyroom.desk.cancel(id)
  for (const [url, body] of [['/api/answer', { id, answer: 'x' }], ['/api/undo', { id }]] as const) {
    const response = await post(app, url, body)
    t.match([response.statusCode, response.json()], [409, { error: 'TICKET_SETTLED', message: /was cancelled at /, ticket: { id, status: 'cancelled' } }])
  }
})

t.test('the list keeps what settled for five minutes, however it settled', async t => {
  const clock = new Clock()
  const app = await build(t, { clock })
  const { desk } = app.readyroom
  const ids: string[] = []
  for (const timeout of [1, 60, 60]) ids.push((await desk.ask({ stream: 'a', question: 'q', timeout_seconds: timeout })).id)
  await post(app, '/api/answer', { id: ids[1], answer: 'yes' })
  await desk.cancel(ids[2]!)
  clock.by(1_000)
  const statuses = async (): Promise<string[]> => {
    const { tickets } = (await get(app, '/api/tickets')).json<{ tickets: Ticket[] }>()
    return tickets.map(({ status }) => status).sort()
  }
  t.strictSame(await statuses(), ['answered', 'cancelled', 'expired'])
  clock.by(299_000)
  t.strictSame(await statuses(), ['answered', 'cancelled', 'expired'])
  clock.by(1)
  t.strictSame(await statuses(), ['expired'], 'five minutes after each was settled')
  clock.by(1_000)
  t.strictSame(await statuses(), [])
})

t.test('reading the list counts as a page that is open; nothing else does', async t => {
  const app = await build(t)
  for (const url of ['/', '/healthz', '/api/history', '/api/audit', '/api/tickets/x']) await get(app, url)
  t.equal(app.readyroom.presence.isPageOpen(), false)
  await get(app, '/api/tickets')
  t.equal(app.readyroom.presence.isPageOpen(), true)
})

t.test('ten thousand pending tickets are listed whole', async t => {
  const store = new MemoryTicketStore({ now: () => START })
  const context = 'line \u2028 "quoted" \\ \ud83d\n'.repeat(10)
  for (let i = 0; i < 10_000; i++) {
    await store.commit(decide(String(i).padStart(6, '0'), { question: `q${i} \u{1F600}`, context, options: ['a', 'b'], stream: `s${i % 50}` }))
  }
  const app = await build(t, { store })
  const begun = performance.now()
  const response = await get(app, '/api/tickets')
  const took = Math.round(performance.now() - begun)
  t.equal(response.statusCode, 200)
  const { tickets } = response.json<{ tickets: Ticket[] }>()
  t.equal(tickets.length, 10_000)
  t.strictSame(tickets[9_999], (await store.get('009999')))
  t.strictSame(tickets, await store.list({}))
  t.comment(`${response.rawPayload.byteLength} bytes in ${took} ms`)
})

t.test('a page of the audit log ends where it grows too long, and the next goes on from there', async t => {
  const app = await build(t)
  const { desk } = app.readyroom
  for (let i = 0; i < 100; i++) await desk.ask({ stream: `s${i}`, question: 'q', context: '\u{1F600}'.repeat(65_536) })
  const seen: number[] = []
  let pages = 0
  for (let after = 0; ; pages++) {
    const response = await get(app, `/api/audit?after=${after}&limit=1000`)
    const { entries } = response.json<{ entries: Array<{ seq: number }> }>()
    if (entries.length === 0) break
    t.ok(response.rawPayload.byteLength < 16 * 1_048_576, `${response.rawPayload.byteLength} bytes`)
    seen.push(...entries.map(({ seq }) => seq))
    after = seen.at(-1)!
  }
  t.strictSame(seen, Array.from({ length: 100 }, (_, i) => i + 1))
  t.ok(pages > 1)
  t.equal((await get(app, '/api/audit?limit=37')).json<{ entries: object[] }>().entries.length, 37)
  t.equal((await get(app, '/api/audit?limit=40')).json<{ entries: object[] }>().entries.length, 40)
})
