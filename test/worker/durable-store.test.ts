import t from 'tap'
import type { Checked } from '../../prove/model/check'
import { MemoryTicketStore } from '../../lib/memory-store'
import { storeContract } from '../contract/store'
import { bundleForWorkerd } from '../helpers/in-workerd'
import { Recorder, type Finding } from '../helpers/recorder'
import { startWorker } from '../helpers/worker'

const { origin } = await startWorker(t, { modules: await bundleForWorkerd('test/helpers/store-object.ts'), className: 'StoreObject' })

async function scene<T> (name: string): Promise<T> {
  const response = await fetch(`${origin}/${name}`)
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return response.json() as Promise<T>
}

const namesOf = (findings: Finding[]): string[] => [...new Set(findings.map(({ test }) => test))]

t.test('in workerd, on the SQLite of a Durable Object', async t => {
  const findings = await scene<Finding[]>('contract')
  for (const name of namesOf(findings)) {
    t.test(name, async t => {
      for (const { test, ok, what } of findings) if (test === name) t.ok(ok, what)
    })
  }
  // The reference, by the same recorder: what ran there has run here.
  const reference = await new Recorder().run(t => storeContract(t, async (_t, { now }) => ({ store: new MemoryTicketStore({ now }) })))
  t.strictSame(namesOf(findings), namesOf(reference))
  t.ok(findings.length > reference.length, `${findings.length} assertions, and the reopening is among them`)
})

t.test('random commands and clocks leave it as the model of the contract says', async t => {
  const { runs, reopened, events } = await scene<Checked>('model')
  t.equal(runs, 40)
  t.ok(reopened > 10, `${reopened} reopened`)
  for (const [event, count] of Object.entries(events)) t.ok(count > 10, `${count} ${event}`)
})

t.test('the recorder finds what tap would find', async t => {
  const findings = await new Recorder().run(t => {
    t.test('all wrong', async t => {
      t.equal(1, 2)
      t.strictSame({ a: 1 }, { a: 1, b: 2 })
      t.match({ a: 'x' }, { a: /y/ })
      t.ok(0)
      await t.rejects(Promise.resolve(), { message: 'any' })
      await t.rejects(Promise.reject(new Error('one')), { message: 'two' })
      throw new Error('thrown')
    })
    t.test('all right', async t => {
      t.equal(1, 1)
      t.strictSame({ a: [1] }, { a: [1] })
      t.match({ a: 'x', b: 1 }, { a: /x/ })
      await t.rejects(Promise.reject(new Error('one')), { message: 'one' })
    })
  })
  t.strictSame(findings.map(({ test, ok }) => [test, ok]), [...Array(7).fill(['all wrong', false]), ...Array(4).fill(['all right', true])])
})

t.test('a commit that the storage refuses is all undone, and the next one follows what was before', async t => {
  const { before, refused, after, reloaded, later } = await scene<Record<string, { head: { hash: string } }>>('failing')
  t.match(refused, { code: 'STORE_UNAVAILABLE', message: /nothing was saved/ })
  t.strictSame(after, before)
  t.strictSame(reloaded, before)
  t.match(later, { seq: 2, prev: before!.head.hash, ticket: { status: 'answered' } })
})

t.test('tables that a newer release has written are left alone', async t => {
  t.match(await scene<string>('newer'), /of version 99, and this release knows 1: deploy the newer release again/)
})

t.test('a migration runs once, all of it or nothing, and keeps what is there', async t => {
  const { found, failure, ticket } = await scene<{ found: unknown, failure: string, ticket: string }>('migrating')
  t.strictSame(found, [[{ version: 1 }], [{ version: 2 }], [{ x: 1 }], [{ version: 2 }], [{ x: 1 }]])
  t.match(failure, /nowhere/)
  t.equal(ticket, 'one')
})

t.test('what a thing costs in rows is what docs/worker.md says, and does not grow with the history', async t => {
  // Twenty pending, ten settled within five minutes, and five hundred settled before.
  t.strictSame(await scene('rows'), {
    enqueue: { read: 2, written: 3 },
    answer: { read: 3, written: 4 },
    poll: { read: 25, written: 0 },
    listPending: { read: 0, written: 0 },
    readPending: { read: 0, written: 0 },
    readSettled: { read: 2, written: 0 },
    wake: { read: 42, written: 0 }
  })
})
