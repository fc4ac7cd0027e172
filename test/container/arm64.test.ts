import { join } from 'node:path'
import t from 'tap'
import { buildImage, hostFolder, runContainer } from '../helpers/container'

t.setTimeout(600_000)

t.test('the arm64 image holds the same bundle, listens under emulation, and is found healthy', async t => {
  const image = await buildImage(t, 'linux/arm64')
  const container = await runContainer(t, image, ['--platform', 'linux/arm64', '--read-only', '-v', `${join(hostFolder(t), '.state')}:/app/.state`])
  const start = performance.now()
  await container.answers()
  t.comment(`answered after ${Math.round(performance.now() - start)} ms under emulation`)
  t.match(await container.exec('uname', '-m'), { stdout: /aarch64/ })
  t.match(await container.exec('cat', '/proc/1/status'), { stdout: /^Uid:\s+1000/m })
  const health = performance.now()
  t.match(await container.exec('node', '/app/health.mjs'), { code: 0 })
  const ms = performance.now() - health
  t.ok(ms < 10_000, `the health check took ${Math.round(ms)} ms`)
  t.match(await container.api('/api/tickets'), { status: 200, body: { tickets: [] } })
})
