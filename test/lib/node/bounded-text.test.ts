import t from 'tap'
import { boundedText } from '../../../lib/node/bounded-text'

t.test('a body is read to its end, letters that fall between two pieces too', async t => {
  const bytes = new TextEncoder().encode('a💥b')
  const body = new ReadableStream<Uint8Array>({ start (to) { for (const byte of bytes) to.enqueue(Uint8Array.of(byte)); to.close() } })
  t.equal(await boundedText(new Response(body), bytes.length), 'a💥b')
  t.equal(await boundedText(new Response(null), 0), '')
})

t.test('one that is longer is given up where it is too long, and not read on', async t => {
  let taken = 0
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({ pull (to) { taken++; to.enqueue(new Uint8Array(10)) }, cancel () { isCancelled = true } })
  await t.rejects(boundedText(new Response(body), 35), { message: 'the answer is longer than 35 bytes' })
  t.ok(isCancelled)
  t.ok(taken < 10)
})
