import t from 'tap'
import { OWNER } from '../../lib/principal'
import { mcpContract } from '../contract/mcp'
import { startMcpApp, untilWaiting } from '../helpers/mcp-app'
import { connectHttp } from '../helpers/mcp-clients'

t.test('over HTTP', async t => mcpContract(t, async t => {
  const { url, desk, close } = await startMcpApp({ progressMs: 15 })
  t.teardown(close)
  return {
    connect: (era, stream = 'http') => connectHttp(t, era, `${url}/${encodeURIComponent(stream)}`),
    answer: async (id, text) => { await desk.answer(id, text, OWNER) },
    untilWaiting: count => untilWaiting(desk, count),
    cancels: era => era === 'modern',
    hasFastProgress: true
  }
}))
