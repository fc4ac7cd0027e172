import type { QueueStorage } from '../../worker/storage'
import { DurableObjectTicketStore } from '../../worker/durable-store'
import { migrate } from '../../worker/migrations'
import { checkModel } from '../../prove/model/check'
import { storeContract } from '../contract/store'
import { decide, answered, START } from './decisions'
import { Recorder } from './recorder'

// What runs inside workerd: bundled by in-workerd.ts, called over HTTP by the tests of the store.

interface State { storage: QueueStorage & { deleteAll (): Promise<void> } }

const open = async (storage: QueueStorage, now = () => START): Promise<DurableObjectTicketStore> => {
  const store = new DurableObjectTicketStore(storage, { instance: 'test', now })
  await store.load()
  return store
}

/** Counts what the storage bills: rows read and written since the last look. */
class Meter implements QueueStorage {
  readonly #storage: QueueStorage
  #cursors: Array<{ rowsRead: number, rowsWritten: number }> = []
  readonly sql: QueueStorage['sql']

  constructor (storage: QueueStorage) {
    this.#storage = storage
    this.sql = {
      exec: (query, ...bindings) => {
        const cursor = storage.sql.exec(query, ...bindings)
        this.#cursors.push(cursor as unknown as { rowsRead: number, rowsWritten: number })
        return cursor as never
      }
    }
  }

  transactionSync<T> (run: () => T): T { return this.#storage.transactionSync(run) }
  sync (): Promise<void> { return this.#storage.sync() }

  rows (): { read: number, written: number } {
    const rows = { read: 0, written: 0 }
    for (const { rowsRead, rowsWritten } of this.#cursors) {
      rows.read += rowsRead
      rows.written += rowsWritten
    }
    this.#cursors = []
    return rows
  }
}

const SCENES: Record<string, (storage: State['storage']) => Promise<unknown>> = {
  /** The whole suite, each of its tests on an empty object. */
  async contract (storage) {
    return new Recorder().run(t => storeContract(t, async (_t, { now }) => {
      await storage.deleteAll()
      const store = await open(storage, now)
      return {
        store,
        async reopen () {
          await store.close()
          return open(storage, now)
        }
      }
    }))
  },

  /** Random commands and clocks against the model of the contract. */
  model: storage => checkModel(async now => {
    await storage.deleteAll()
    const store = await open(storage, now)
    return {
      store,
      async reopen () {
        await store.close()
        return open(storage, now)
      },
      drop: () => store.close()
    }
  }, { seed: 5, runs: 40, length: 60 }),

  /** A commit whose second statement fails. */
  async failing (storage) {
    const store = await open(storage)
    const first = decide('one')
    await store.commit(first)
    const before = { head: store.head(), ticket: await store.get('one'), since: await store.since(0, 10) }
    storage.sql.exec("CREATE TRIGGER full BEFORE INSERT ON tickets BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
    const refused = await store.commit(answered(first)).then(() => undefined, ({ code, message }) => ({ code, message }))
    const after = { head: store.head(), ticket: await store.get('one'), since: await store.since(0, 10) }
    const kept = await open(storage)
    const reloaded = { head: kept.head(), ticket: await kept.get('one'), since: await kept.since(0, 10) }
    storage.sql.exec('DROP TRIGGER full')
    const later = await store.commit(answered(first))
    return { before, refused, after, reloaded, later }
  },

  /** Tables that a newer release has written. */
  async newer (storage) {
    await open(storage)
    storage.sql.exec('UPDATE schema SET version = 99')
    return (await open(storage).then(() => ({ message: '' }), err => err as Error)).message
  },

  /** A second version on top of the first, and a third that fails. */
  async migrating (storage) {
    const store = await open(storage)
    await store.commit(decide('one'))
    const version = (): unknown => storage.sql.exec('SELECT version FROM schema').toArray()
    const found = [version()]
    const steps = ['-- the first is there', 'CREATE TABLE more (x INTEGER); INSERT INTO more VALUES (1)']
    migrate(storage, steps)
    migrate(storage, steps)
    found.push(version(), storage.sql.exec('SELECT x FROM more').toArray())
    let failure = ''
    try {
      migrate(storage, [...steps, 'INSERT INTO more VALUES (2); INSERT INTO nowhere VALUES (1)'])
    } catch (err) { failure = (err as Error).message }
    found.push(version(), storage.sql.exec('SELECT x FROM more').toArray())
    return { found, failure, ticket: (await store.get('one'))?.id }
  },

  /** Rows that each thing costs, on a queue with a long history. */
  async rows (storage) {
    const meter = new Meter(storage)
    const store = await open(meter)
    for (let n = 0; n < 500; n++) {
      const old = decide(`old ${n}`)
      await store.commit(old)
      await store.commit(answered(old, 'yes', n < 490 ? -600_000 : 0))
    }
    for (let n = 0; n < 20; n++) await store.commit(decide(`pending ${n}`))
    meter.rows()
    const measure = async (run: () => Promise<unknown>): Promise<object> => {
      await run()
      return meter.rows()
    }
    const next = decide('next')
    return {
      enqueue: await measure(() => store.commit(next)),
      answer: await measure(() => store.commit(answered(next))),
      poll: await measure(() => store.list({ since: new Date(START - 300_000).toISOString() })),
      listPending: await measure(() => store.list({ status: 'pending' })),
      readPending: await measure(() => store.get('pending 1')),
      readSettled: await measure(() => store.get('old 1')),
      wake: await measure(() => open(meter))
    }
  }
}

export class StoreObject {
  readonly #storage: State['storage']

  constructor ({ storage }: State) {
    this.#storage = storage
  }

  async fetch (request: Request): Promise<Response> {
    const scene = SCENES[new URL(request.url).pathname.slice(1)]
    return scene === undefined ? new Response(null, { status: 404 }) : Response.json(await scene(this.#storage))
  }
}

interface Env { QUEUE: { get (id: unknown): { fetch (request: Request): Promise<Response> }, idFromName (name: string): unknown } }

export default {
  // Each scene has an object of its own.
  fetch: (request: Request, { QUEUE }: Env) => QUEUE.get(QUEUE.idFromName(request.url)).fetch(request)
}
