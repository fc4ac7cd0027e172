import t from 'tap'
import { ERAS } from '../contract/mcp'
import { connectHttp } from '../helpers/mcp-clients'
import { startWorker } from '../helpers/worker'
import { headersOf, post } from '../helpers/worker-client'

/** What docs/worker.md says an agent's connecting costs, tools/list included, in requests. */
const CONNECTING = { legacy: 4, modern: 2 }

t.test('what an agent costs in requests is what docs/worker.md says', async t => {
  const worker = await startWorker(t)
  for (const era of ERAS) {
    let requests = 0
    const counting: typeof fetch = (input, init) => {
      requests++
      return fetch(input, init)
    }
    const since = (): number => {
      const count = requests
      requests = 0
      return count
    }
    const client = await connectHttp(t, era, `${worker.origin}/mcp/${era}`, headersOf(worker), counting)
    await client.listTools()
    t.equal(since(), CONNECTING[era], `${era}: connecting`)
    const asked = await client.callTool({ name: 'ask_human', arguments: { question: 'Ship it?' } })
    t.equal(since(), 1, `${era}: ask_human`)
    const { id } = asked.structuredContent as { id: string }
    await client.callTool({ name: 'wait_for_answer', arguments: { id, timeout_seconds: 0 } })
    t.equal(since(), 1, `${era}: wait_for_answer`)
    await post(worker, '/api/answer', { id, answer: 'yes' })
    await client.close()
    t.equal(since(), 0, `${era}: leaving`)
  }
})

t.test('a day of twenty agents is well inside the free plan, by the sums of docs/worker.md', async t => {
  const perAgent = 50
  const tickets = 20 * perAgent
  const requests = 20 * CONNECTING.legacy + tickets + 5 * tickets + tickets
  const written = (3 + 4) * tickets
  t.equal(requests, 7_080)
  t.equal(written, 7_000)
  const day = 86_400
  t.equal(day / 5, 17_280, 'reads of a page that is looked at day and night')
  const eightHours = 8 * 3_600 / 5 + 16 * 60
  t.equal(eightHours, 6_720, 'reads of one that is hidden for sixteen hours of the day')
  // The page asks for the event stream again every ten minutes, which the entry answers.
  const tries = day / 600
  t.equal(tries, 144)
  t.ok(6 * (eightHours + tries) + requests < 100_000, `${6 * (eightHours + tries) + requests}: six pages fit`)
  t.ok(6 * day / 5 > 100_000, 'six that are never hidden do not')
  t.equal(day / 15, 5_760, 'looks of a watcher, and of a room page that is looked at day and night')
  t.equal(8 * 3_600 / 15 + 16 * 60, 2_880, 'of a room page that is hidden for sixteen hours')
})
