import t from 'tap'
import { bundleForWorkerd } from '../../helpers/in-workerd'
import type { Finding } from '../../helpers/recorder'
import { startWorker } from '../../helpers/worker'

const modules = await bundleForWorkerd('test/helpers/room-objects.ts', ['worker/rooms/room-object.ts', 'worker/rooms/registry-object.ts'])
const { origin } = await startWorker(t, { modules, className: 'HouseObject', rooms: true, flags: ['nodejs_compat'] })

async function scene<T> (name: string): Promise<T> {
  const response = await fetch(`${origin}/${name}`)
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return response.json() as Promise<T>
}

t.test('the store on Durable Objects, in workerd', async t => {
  const findings = await scene<Finding[]>('contract')
  const names = [...new Set(findings.map(({ test }) => test))]
  t.ok(names.length > 15, `${names.length} tests`)
  for (const name of names) {
    t.test(name, async t => {
      for (const { test, ok, what } of findings) if (test === name) t.ok(ok, what)
    })
  }
})

t.test('a sweep takes away more than one query can name', async t => {
  t.strictSame(await scene('sweep'), { result: { more: false }, left: 0 })
})

t.test('a room knows whose tokens count in it, and has heard of a revocation when it is acknowledged', async t => {
  t.strictSame(await scene('tokens'), {
    before: { ops: 'done', lab: 'done', den: 'UNAUTHORIZED', called: ['ann'] },
    after: { ops: 'UNAUTHORIZED', gone: ['lab agent_gone ann', 'ops agent_gone ann'] }
  })
})

t.test('keeping a room in order costs what docs/worker.md says: a row an hour for each agent, and one alarm a day', async t => {
  t.strictSame(await scene('housekeeping'), {
    hourly: { read: 0, written: 10 },
    others: { read: 0, written: 0 },
    daily: { read: 49, written: 0 },
    alarms: [1, 2]
  })
})

t.test('what a thing costs in rows is what docs/worker.md says', async t => {
  t.strictSame(await scene('rows'), {
    post: { read: 21, written: 10 },
    unread: { read: 5, written: 0 },
    poll: { read: 5, written: 0 },
    whatsNew: { read: 5, written: 1 },
    nothingNew: { read: 4, written: 0 },
    told: { read: 6, written: 6 },
    delivered: { read: 1, written: 2 },
    read: { read: 3, written: 1 },
    shown: { read: 9, written: 0 },
    create: { read: 21, written: 11 },
    claim: { read: 7, written: 6 }
  })
})
