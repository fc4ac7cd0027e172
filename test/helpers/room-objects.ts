import { answer, enqueue, mintId } from '../../lib/lifecycle'
import type { Decision } from '../../lib/store'
import type { AuditEntry } from '../../schemas/event'
import type { Command } from '../../lib/room/call'
import type { TokenView } from '../../lib/room/commands/tokens'
import { COMMANDS, type CallHead, type CommandName, type InputOf } from '../../lib/room/store'
import { ObjectEngine } from '../../worker/rooms/engine'
import { Housekeeping } from '../../worker/rooms/housekeeping'
import { applyAfter, NOWHERE } from '../../worker/rooms/history'
import { mirrorTokens } from '../../worker/rooms/mirror'
import { registryStub, roomStub, type RoomsEnv } from '../../worker/rooms/objects'
import type { RoomStorage } from '../../worker/rooms/sql'
import { RoomObjectsStore } from '../../worker/rooms/room-objects-store'
import { roomStoreContract } from '../contract/room'
import { Recorder } from './recorder'

// What runs inside workerd: bundled by in-workerd.ts, called over HTTP by the tests of the rooms.

const HEAD = { actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now: Date.parse('2026-05-01T10:00:00.000Z') } as const satisfies CallHead

/** A store of its own for each name, kept in memory as far as the queue would keep it. */
function storeOf (env: RoomsEnv, queue: string, kept = new Map<string, unknown>()): RoomObjectsStore {
  return new RoomObjectsStore({
    queue,
    room: name => roomStub(env, queue, name),
    registry: () => registryStub(env, queue),
    since: async () => [],
    notes: {
      get: <T>(name: string) => kept.get(name) as T | undefined,
      put (name, value) { kept.set(name, structuredClone(value)) },
      delete (name) { kept.delete(name) }
    }
  })
}

/** Counts what the storage bills for each thing. */
function metered (storage: RoomStorage) {
  let cursors: Array<{ rowsRead: number, rowsWritten: number }> = []
  const engine = new ObjectEngine({
    transactionSync: run => storage.transactionSync(run),
    sql: {
      exec (query, ...bindings) {
        const cursor = storage.sql.exec(query, ...bindings) as ReturnType<RoomStorage['sql']['exec']> & { rowsRead: number, rowsWritten: number }
        cursors.push(cursor)
        return cursor
      }
    }
  })
  return {
    engine,
    /** Rows read and written since this was last asked. */
    rows (): { read: number, written: number } {
      const rows = { read: 0, written: 0 }
      for (const { rowsRead, rowsWritten } of cursors) {
        rows.read += rowsRead
        rows.written += rowsWritten
      }
      cursors = []
      return rows
    }
  }
}

const SCENES: Record<string, (env: RoomsEnv, storage: RoomStorage) => Promise<unknown>> = {
  /** Rows that each thing costs in a room with a long history and ten agents with tokens. */
  async rows (_env, storage) {
    const { engine, rows } = metered(storage)
    engine.make()
    const run = <N extends CommandName>(name: N, input: InputOf<N>, who = 'ann'): void => {
      engine.run(COMMANDS[name] as Command<unknown, unknown>, { ...HEAD, actor: { name: who, kind: 'agent', admin: false } }, input)
    }
    run('addRoom', {})
    const tokens = Array.from({ length: 10 }, (_, n): TokenView => ({
      id: n + 1, agent: `agent-${n}`, role: 'agent', home: 'ops', rooms: [], all_rooms: false, created_at: new Date(HEAD.now).toISOString()
    }))
    engine.run(mirrorTokens, HEAD, { version: 1, tokens })
    for (let n = 0; n < 300; n++) run('postMessage', { body: `message ${n}` })
    for (let n = 0; n < 50; n++) run('createTask', { title: `task ${n}` })
    for (const who of ['ann', 'bob']) run('whatsNew', {}, who)
    const { ticket, event } = enqueue({ stream: 'ann', asker: 'ann', room: 'ops', question: 'Ship it?' }, mintId(HEAD.now), HEAD.now)
    const entry = (seq: number, decision: Decision): AuditEntry =>
      ({ seq, batch: seq, ...decision.event, id: ticket.id, stream: 'ann', instance: 'test', ticket: decision.ticket, prev: '', hash: `${seq}` })
    const answered = (): AuditEntry => entry(2, answer(ticket, 'yes', 'human', HEAD.now))
    const tell = (told: AuditEntry): object => {
      const after = told.seq === 1 ? NOWHERE : { seq: 1, hash: '1' }
      engine.run(applyAfter, { ...HEAD, actor: { name: 'system', kind: 'system', admin: true } }, { entries: [told], after })
      return rows()
    }
    rows()
    const cost = <N extends CommandName>(name: N, input: InputOf<N>, who?: string): object => {
      run(name, input, who)
      return rows()
    }
    return {
      post: cost('postMessage', { body: 'hello' }),
      unread: cost('peek', { quiet: true }, 'bob'),
      poll: cost('peek', { quiet: true, since: 1_000 }, 'bob'),
      whatsNew: cost('whatsNew', {}, 'bob'),
      nothingNew: cost('whatsNew', {}, 'bob'),
      told: [entry(1, { ticket, event }), answered()].map(tell)[1],
      delivered: cost('noteDeliveries', { marks: [{ kind: 'delivered', asker: 'ann', at: 'now', room: 'ops', ticket_id: ticket.id, rev: 2 }] }),
      read: cost('noteDeliveries', { marks: [{ kind: 'read', asker: 'ann', at: 'now' }] }),
      shown: cost('ticketsInRoom', { tickets: [{ id: ticket.id, room: 'ops' }] }),
      create: cost('createTask', { title: 'one more' }),
      claim: cost('claimTask', { task_id: 51 })
    }
  },

  /** Rows that it costs to keep in order a room that ten agents are in: when the first call comes, with each after it, and once a day. */
  async housekeeping (_env, storage) {
    const { engine, rows } = metered(storage)
    engine.make()
    const alarms: number[] = []
    const alarm = { getAlarm: async () => null, setAlarm: async (at: number) => { alarms.push(at) } }
    const house = new Housekeeping(engine, alarm, { prune: true, intervalMs: 3_600_000 })
    await house.wake()
    engine.run(COMMANDS.addRoom, HEAD, {})
    const call = (n: number, now: number): void => {
      const head = { ...HEAD, now, actor: { name: `agent-${n}`, kind: 'agent', admin: false } } as const
      house.after('whatsNew', head, {}, engine.run(COMMANDS.whatsNew, head, {}).events)
    }
    for (let n = 0; n < 10; n++) call(n, HEAD.now)
    const measure = async (what: () => unknown): Promise<object> => {
      rows()
      await what()
      return rows()
    }
    // Without what the command itself costs.
    const again = (n: number, now: number): void => {
      house.after('whatsNew', { ...HEAD, now, actor: { name: `agent-${n}`, kind: 'agent', admin: false } }, {}, [])
    }
    const sets = alarms.length
    return {
      hourly: await measure(() => { for (let n = 0; n < 10; n++) again(n, HEAD.now + 3_600_000) }),
      others: await measure(() => { for (let n = 0; n < 1_000; n++) again(n % 10, HEAD.now + 3_600_000 + n) }),
      daily: await measure(() => house.round(HEAD.now + 25 * 3_600_000)),
      alarms: [sets, alarms.length]
    }
  },

  async contract (env) {
    return new Recorder().run(t => roomStoreContract(t, { open: async () => storeOf(env, crypto.randomUUID()) }))
  },

  /** More ids than one query may bind. */
  async sweep (env) {
    const store = storeOf(env, 'sweep')
    await store.run('addRoom', HEAD, {})
    for (let n = 0; n < 250; n++) await store.run('postMessage', HEAD, { body: `old ${n}` })
    await store.run('setRetention', HEAD, { days: 1 })
    const later = { ...HEAD, now: HEAD.now + 3 * 86_400_000 }
    const { result } = await store.run('sweepRoom', later, { limit: 500 })
    return { result, left: (await store.run('readMessages', later, { since_id: 0 })).result.messages.length }
  },

  /** A token as the rooms see it: from its minting to its end. */
  async tokens (env) {
    const store = storeOf(env, 'tokens')
    const root = { ...HEAD, actor: { name: 'system', kind: 'system', admin: true } } as const
    for (const room of ['ops', 'lab', 'den']) await store.run('addRoom', { ...root, room }, {})
    const { result: ann } = await store.run('mintToken', root, { hash: 'h1', agent: 'ann', role: 'agent', home: 'ops', rooms: ['lab'] })
    const as = { ...HEAD, token: ann.id }
    const code = (run: Promise<unknown>): Promise<string> => run.then(() => 'done', err => (err as { code: string }).code)
    const before = {
      ops: await code(store.run('postMessage', as, { body: 'hello' })),
      lab: await code(store.run('postMessage', { ...as, room: 'lab' }, { body: 'hello' })),
      den: await code(store.run('postMessage', { ...as, room: 'den' }, { body: 'hello' })),
      called: (await store.run('members', { ...as, room: 'lab' }, {})).result.agents.map(({ name }) => name)
    }
    const { events } = await store.run('revokeTokens', root, { agent: 'ann' })
    const after = {
      ops: await code(store.run('postMessage', as, { body: 'late' })),
      gone: events.map(({ kind, room, body }) => `${room} ${kind} ${body}`).sort()
    }
    return { before, after }
  }
}

export class HouseObject {
  readonly #env: RoomsEnv
  readonly #storage: RoomStorage

  constructor ({ storage }: { storage: RoomStorage }, env: RoomsEnv) {
    this.#storage = storage
    this.#env = env
  }

  async fetch (request: Request): Promise<Response> {
    const scene = SCENES[new URL(request.url).pathname.slice(1)]
    return scene === undefined ? new Response(null, { status: 404 }) : Response.json(await scene(this.#env, this.#storage))
  }
}

interface Env { QUEUE: { get (id: unknown): { fetch (request: Request): Promise<Response> }, idFromName (name: string): unknown } }

export default {
  fetch: (request: Request, { QUEUE }: Env) => QUEUE.get(QUEUE.idFromName(request.url)).fetch(request)
}
