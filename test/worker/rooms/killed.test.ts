import t from 'tap'
import { callerOf } from '../../contract/v1'
import { ask } from '../../helpers/http'
import { eventually } from '../../helpers/process'
import { mint } from '../../helpers/worker-rooms'
import { startWranglerDev, type WranglerDev } from '../../helpers/wrangler-dev'

const reach = ({ origin }: WranglerDev, token: string) => callerOf({ origin, request: (path, init) => ask(origin, path, init) }, token)

t.test('a runtime that is killed in the middle of writing into a room has kept what it acknowledged, each once, knows the tokens, and what is due wakes the room', async t => {
  const persist = t.testdir()
  const first = await startWranglerDev(t, persist)
  const tokens = await Promise.all(['ann', 'bob', 'cid'].map(name => mint(first, name)))
  const told = new Map<number, string>()
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const workers = tokens.map(async (token, w) => {
    try {
      for (let n = 0; ; n++) {
        const body = `${w}:${n} ${'x'.repeat(2_000)}`
        told.set((await reach(first, token).post<{ id: number }>('/v1/messages', { body })).id, body)
        if (told.size >= 40) resolve()
      }
    } catch { /* It is gone. */ }
  })
  await enough
  await reach(first, tokens[0]!).post('/v1/files', { name: 'scratch', content_base64: 'aGk=', expires_in_hours: 0.001 })
  await first.kill()
  await Promise.all(workers)

  const second = await startWranglerDev(t, persist)
  const ann = reach(second, tokens[0]!)
  const kept = new Map<number, string>()
  for (let since = 0, more = true; more;) {
    const { messages, next } = await ann.get<{ messages: Array<{ id: number, body: string }>, next?: number }>(`/v1/messages?since_id=${since}&limit=100`)
    for (const { id, body } of messages) kept.set(id, body)
    since = next ?? 0
    more = next !== undefined
  }
  for (const [id, body] of told) t.equal(kept.get(id), body, `message ${id}`)
  t.equal(new Set(kept.values()).size, kept.size, 'nothing is there twice')
  t.ok(kept.size <= told.size + tokens.length, 'beside them only what was under way')
  // Nothing that is read here takes it away.
  await eventually(async () => (await ann.get<{ events: object[] }>('/v1/events?kind=file_expired')).events.length === 1 || undefined, 'the alarm of before')
  t.equal((await ann.post<{ id: number }>('/v1/messages', { body: 'after' })).id, Math.max(...kept.keys()) + 1, 'and it goes on')
})
