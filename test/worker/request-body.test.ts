import t from 'tap'
import { readBody, readBytes } from '../../worker/request-body'
import { UndoBodySchema } from '../../schemas/api'

const post = (body: ReadableStream<Uint8Array>, headers: Record<string, string> = {}): Request =>
  new Request('http://localhost/', { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body, duplex: 'half' })

t.test('a body whose sender goes away in the middle is a bad request, and no failure of ours', async t => {
  const body = new ReadableStream<Uint8Array>({
    start (controller) { controller.enqueue(new TextEncoder().encode('{"id":')) },
    pull (controller) { controller.error(new Error('Network connection lost.')) }
  })
  await t.rejects(readBody(post(body), UndoBodySchema), { code: 'BAD_REQUEST', message: /not as long as/, cause: { message: 'Network connection lost.' } })
})

t.test('a body that never ends is let go at the limit', async t => {
  let pulled = 0
  let cancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull (controller) {
      pulled += 65_536
      controller.enqueue(new Uint8Array(65_536))
    },
    cancel () { cancelled = true }
  }, { highWaterMark: 0 })
  await t.rejects(readBytes(post(body)), { code: 'TOO_LARGE' })
  t.ok(pulled <= 1_048_576 + 2 * 65_536, `${pulled} bytes were taken`)
  t.ok(cancelled)
})

t.test('one that says it is too long is not read at all', async t => {
  const body = new ReadableStream<Uint8Array>({ pull () { t.fail('it was read') } }, { highWaterMark: 0 })
  await t.rejects(readBytes(post(body, { 'content-length': '1048577' })), { code: 'TOO_LARGE' })
})
