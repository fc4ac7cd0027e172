import t from 'tap'
import type { Ticket } from '../../schemas/ticket'
import { pageContract } from '../contract/page'
import { launchBrowser } from '../helpers/browser'
import { TOKEN } from '../helpers/worker'
import { call, enqueue, post, request } from '../helpers/worker-client'
import { startWranglerDev } from '../helpers/wrangler-dev'

// The whole of the page's contract, on a machine that may be busy with other things.
t.setTimeout(300_000)

const worker = await startWranglerDev(t, t.testdir())

pageContract(t, await launchBrowser(t), {
  name: 'wrangler dev',
  isLive: false,
  token: TOKEN,
  async open (t) {
    const pending = new Set<string>()
    const cancel = (id: string): Promise<unknown> => call(worker, '/mcp', 'cancel_ticket', { id })
    // One queue for all of them: each leaves it as it found it, but for what was settled.
    t.teardown(() => Promise.all([...pending].map(cancel)))
    return {
      url: `${worker.origin}/`,
      async enqueue (input) {
        const id = await enqueue(worker, input)
        pending.add(id)
        return id
      },
      async answer (id, text) {
        const response = await post(worker, '/api/answer', { id, answer: text })
        if (response.status !== 200) throw new Error(`answer: ${response.status} ${await response.text()}`)
      },
      cancel,
      ticket: async id => await (await request(worker, `/api/tickets/${id}`)).json() as Ticket
    }
  }
})
