import t from 'tap'
import { v1Contract } from '../contract/v1'
import { ask } from '../helpers/http'
import { startWorker } from '../helpers/worker'
import { administer, mint } from '../helpers/worker-rooms'

t.test('the room over HTTP, in workerd', { timeout: 110_000 }, async t => {
  v1Contract(t, {
    name: 'Worker',
    async open (t) {
      const worker = await startWorker(t)
      return {
        origin: worker.origin,
        mint: (agent, more) => mint(worker, agent, more),
        revoke: async agent => { await administer(worker, 'revoke', { agent }) },
        request: (path, init) => ask(worker.origin, path, init)
      }
    }
  })
})
