import t from 'tap'
import { askPortHolder, judgePortHolder } from '../../../lib/node/port-holder'
import { listenAsDaemon } from '../../helpers/internal'
import { freePort } from '../../helpers/process'
import { squat } from '../../helpers/squatter'

t.test('nobody, a Ready Room, a stranger and one that says nothing are told apart', async t => {
  t.same(await askPortHolder('127.0.0.1', await freePort(), 1_000), { kind: 'nobody' })
  const { port } = await listenAsDaemon(t)
  t.match(await askPortHolder('127.0.0.1', port, 5_000), { kind: 'readyroom', identity: { state_dir: '/state' } })
  const silent = await squat(t, 0, () => undefined)
  t.same(await askPortHolder('127.0.0.1', silent.port, 50), { kind: 'silent' })
  let body = ''
  const stranger = await squat(t, 0, () => ({ body }))
  for (body of ['ok', '{}', '{"readyroom":false}', '{"readyroom":true,"uid":"0"}']) {
    t.same(await askPortHolder('127.0.0.1', stranger.port, 5_000), { kind: 'stranger' }, body)
  }
})

t.test('what looks strange for a moment, because it is closing, is not taken for a stranger', async t => {
  const port = await freePort()
  const closing = await squat(t, port, () => {
    setImmediate(() => closing.close())
    return { status: 503, body: '{"error":"STORE_UNAVAILABLE","message":"Stopping."}' }
  })
  t.same(await judgePortHolder('127.0.0.1', port, { strangerMs: 5_000, silentMs: 5_000 }), { kind: 'nobody' })
})
