import * as fc from 'fast-check'
import t from 'tap'
import type { CommandName, InputOf, OutputOf } from '../../../lib/room/store'
import { MIN_LEASE_SECONDS } from '../../../lib/room/tasks'
import type { Task } from '../../../schemas/room'
import { ThreadlessRoomStore } from '../../helpers/threadless-room-store'

// Random commands of three agents, one of them an admin, and of a clock, on the board as it is kept, against the
// simplest board that could be right.

const AGENTS = ['ann', 'bob', 'root'] as const
const START = Date.parse('2026-05-01T10:00:00.000Z')
const MAX_TASKS = 4

interface Plain {
  status: Task['status']
  owner?: string
  version: number
  needs: number[]
  lease?: { seconds: number, until: number }
  notes: number
}

const OK = 'ok'
type Told = typeof OK | 'TASK_NOT_FOUND' | 'TASK_NOT_OWNED' | 'TASK_NOT_READY' | 'TASK_CHANGED' | 'BAD_REQUEST'

/** The board, without anything that makes it fast or durable. */
class Model {
  readonly tasks = new Map<number, Plain>()
  /** How many leases have lapsed. */
  lapsed = 0
  now = START

  /** What a call of an agent does before anything else: it is a sign of life of its own leases. */
  call (who: string): void {
    for (const { status, owner, lease } of this.tasks.values()) {
      if (status === 'in_progress' && owner === who && lease !== undefined && this.now < lease.until) lease.until = this.now + lease.seconds * 1_000
    }
  }

  /** A task as whoever looks at it finds it. */
  look (id: number): Plain | undefined {
    const task = this.tasks.get(id)
    if (task?.status === 'in_progress' && task.lease !== undefined && this.now >= task.lease.until) {
      this.lapsed++
      this.#change(task, { status: 'pending' })
    }
    return task
  }

  create (who: string, needs: number[], claim: boolean): Told {
    this.call(who)
    for (const id of needs) if (this.look(id) === undefined) return 'TASK_NOT_FOUND'
    if (claim && needs.some(id => this.tasks.get(id)!.status !== 'done')) return 'TASK_NOT_READY'
    const task: Plain = { status: 'pending', version: 1, needs, notes: 0 }
    this.tasks.set(this.tasks.size + 1, task)
    if (claim) this.#change(task, { status: 'in_progress', owner: who })
    return OK
  }

  claim (who: string, id: number, seconds: number | undefined): Told {
    this.call(who)
    const task = this.look(id)
    if (task === undefined) return 'TASK_NOT_FOUND'
    if (task.status === 'done' || task.status === 'cancelled') return 'TASK_NOT_READY'
    if (task.owner !== undefined && task.owner !== who) return 'TASK_NOT_OWNED'
    if (task.status === 'blocked' && task.owner === undefined) return 'TASK_NOT_READY'
    if (task.needs.some(other => this.tasks.get(other)!.status !== 'done')) return 'TASK_NOT_READY'
    if (task.status === 'in_progress' && (seconds === undefined || seconds === task.lease?.seconds)) return OK
    const length = seconds ?? task.lease?.seconds
    this.#change(task, { status: 'in_progress', owner: who, ...(length !== undefined && { lease: { seconds: length, until: this.now + length * 1_000 } }) })
    return OK
  }

  update (who: string, id: number, status: Task['status'], version: number | undefined): Told {
    this.call(who)
    const task = this.look(id)
    if (task === undefined) return 'TASK_NOT_FOUND'
    if (version !== undefined && version !== task.version) return 'TASK_CHANGED'
    if (status === 'in_progress') return 'BAD_REQUEST'
    if (!this.#mayChange(task, who)) return 'TASK_NOT_OWNED'
    if (status === task.status && (status !== 'pending' || task.owner === undefined)) return OK
    if (status === 'blocked') this.#change(task, { ...task, status, ...(task.lease && { lease: { ...task.lease, until: Infinity } }) })
    else this.#change(task, { status, ...(status !== 'pending' && task.owner !== undefined && { owner: task.owner }) })
    return OK
  }

  release (who: string, id: number): Told {
    this.call(who)
    const task = this.look(id)
    if (task === undefined) return 'TASK_NOT_FOUND'
    if (task.status === 'pending' && task.owner === undefined) return OK
    if (!this.#mayChange(task, who)) return 'TASK_NOT_OWNED'
    this.#change(task, { status: 'pending' })
    return OK
  }

  /** All tasks here are made by `ann`. */
  depend (who: string, id: number, needs: number[]): Told {
    this.call(who)
    const task = this.look(id)
    if (task === undefined) return 'TASK_NOT_FOUND'
    if (!this.#mayChange(task, who) && who !== 'ann') return 'TASK_NOT_OWNED'
    for (const other of needs) if (this.look(other) === undefined) return 'TASK_NOT_FOUND'
    const reaches = (from: number, seen = new Set<number>()): boolean => from === id ||
      (!seen.has(from) && this.tasks.get(from)!.needs.some(other => reaches(other, seen.add(from))))
    if (needs.some(other => reaches(other))) return 'BAD_REQUEST'
    task.needs = needs
    task.version++
    return OK
  }

  note (who: string, id: number): Told {
    this.call(who)
    const task = this.look(id)
    if (task === undefined) return 'TASK_NOT_FOUND'
    task.notes++
    return OK
  }

  #mayChange (task: Plain, who: string): boolean { return who === 'root' || task.owner === who }

  /** `owner` and `lease` that are not named go. */
  #change (task: Plain, to: Pick<Plain, 'status' | 'owner' | 'lease'>): void {
    const { version, needs, notes } = task
    delete task.owner
    delete task.lease
    Object.assign(task, to, { version: version + 1, needs, notes })
  }
}

/** Both boards. */
class Boards {
  readonly model = new Model()
  readonly #store: ThreadlessRoomStore
  readonly #room: string

  constructor (store: ThreadlessRoomStore, room: string) {
    this.#store = store
    this.#room = room
  }

  async run<N extends CommandName> (who: string, name: N, input: InputOf<N>): Promise<OutputOf<N>> {
    const actor = { name: who, kind: who === 'root' ? 'admin' : 'agent', admin: who === 'root' } as const
    return (await this.#store.run(name, { actor, room: this.#room, now: this.model.now }, input)).result
  }

  /** Does it on the kept board, and compares what was said with what the model says, and then all that is there. */
  async both<N extends CommandName> (told: () => Told, who: string, name: N, input: InputOf<N>): Promise<void> {
    const leases = [...this.model.tasks.values()].map(({ lease }) => [lease, lease?.until] as const)
    const expected = told()
    // Of what is refused nothing is there, not even the sign of life.
    if (expected !== OK) for (const [lease, until] of leases) if (lease !== undefined) lease.until = until!
    let got: string = OK
    try {
      await this.run(who, name, input)
    } catch (err) {
      got = (err as { code?: string }).code ?? String(err)
    }
    if (got !== expected) throw new Error(`${who} ${name} ${JSON.stringify(input)}: ${got}, and not ${expected}`)
    await this.compare()
  }

  /** Whoever compares looks: what is over has lapsed then, in both. */
  async compare (): Promise<void> {
    for (const id of this.model.tasks.keys()) this.model.look(id)
    const { tasks } = await this.run('observer', 'listTasks', {})
    const kept = tasks.map(({ id, status, owner, version, depends_on: needs = [], lease_until: until }) =>
      ({ id, status, owner, version, needs, until }))
    const plain = [...this.model.tasks].map(([id, { status, owner, version, needs, lease }]) => {
      const until = status === 'in_progress' && lease !== undefined ? new Date(lease.until).toISOString() : undefined
      return { id, status, owner, version, needs: [...needs].sort(), until }
    })
    if (JSON.stringify(kept) !== JSON.stringify(plain)) throw new Error(`kept ${JSON.stringify(kept)}, model ${JSON.stringify(plain)}`)
    const ready = (await this.run('observer', 'listTasks', { status: 'ready' })).tasks.map(({ id }) => id)
    const expected = [...this.model.tasks].filter(([, { status, needs }]) => status === 'pending' &&
      needs.every(other => this.model.tasks.get(other)!.status === 'done')).map(([id]) => id)
    if (JSON.stringify(ready) !== JSON.stringify(expected)) throw new Error(`ready are ${ready}, and not ${expected}`)
  }
}

const agent = fc.constantFrom(...AGENTS)
// One more than there can be: not all are there.
const task = fc.integer({ min: 1, max: MAX_TASKS + 1 })
const needs = fc.uniqueArray(task, { maxLength: 2 })
const status = fc.constantFrom('pending', 'in_progress', 'blocked', 'done', 'cancelled')
const seconds = fc.option(fc.constantFrom(MIN_LEASE_SECONDS, 60), { nil: undefined })

type Step = (boards: Boards) => Promise<void>
const step = <A>(inputs: fc.Arbitrary<A>, words: (input: A) => string, run: (input: A, boards: Boards) => Promise<void>): fc.Arbitrary<Step> =>
  inputs.map(input => Object.assign((boards: Boards) => run(input, boards), { [fc.toStringMethod]: () => words(input) }))

const given = <K extends string, V>(name: K, value: V | undefined) => value === undefined ? {} : { [name]: value } as { [key in K]: V }

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: step(fc.tuple(needs, fc.boolean()), input => `create ${input}`, async ([needs, claim], boards) => {
      if (boards.model.tasks.size === MAX_TASKS) return
      await boards.both(() => boards.model.create('ann', needs, claim), 'ann', 'createTask', { title: 'x', depends_on: needs, claim })
    })
  },
  {
    weight: 6,
    arbitrary: step(fc.tuple(agent, task, seconds), input => `claim ${input}`, ([who, id, seconds], boards) =>
      boards.both(() => boards.model.claim(who, id, seconds), who, 'claimTask', { task_id: id, ...given('lease_seconds', seconds) }))
  },
  {
    weight: 6,
    arbitrary: step(fc.tuple(agent, task, status, fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined })), input => `update ${input}`, ([who, id, status, version], boards) =>
      boards.both(() => boards.model.update(who, id, status, version), who, 'updateTask', { task_id: id, status, ...given('expected_version', version) }))
  },
  {
    weight: 2,
    arbitrary: step(fc.tuple(agent, task), input => `release ${input}`, ([who, id], boards) =>
      boards.both(() => boards.model.release(who, id), who, 'releaseTask', { task_id: id }))
  },
  {
    weight: 3,
    arbitrary: step(fc.tuple(agent, task, needs), input => `depend ${input}`, ([who, id, needs], boards) =>
      boards.both(() => boards.model.depend(who, id, needs), who, 'updateTask', { task_id: id, depends_on: needs }))
  },
  {
    weight: 1,
    arbitrary: step(fc.tuple(agent, task), input => `note ${input}`, ([who, id], boards) =>
      boards.both(() => boards.model.note(who, id), who, 'addNote', { task_id: id, body: 'x' }))
  },
  {
    weight: 1,
    arbitrary: step(agent, who => `alive ${who}`, async (who, boards) => {
      boards.model.call(who)
      await boards.run(who, 'whatsNew', {})
    })
  },
  // To the millisecond before, at and after the end of a lease.
  {
    weight: 4,
    arbitrary: step(fc.constantFrom(1, 10_000, 29_999, 30_000, 60_001), ms => `after ${ms} ms`, async (ms, boards) => {
      boards.model.now += ms
      await boards.compare()
    })
  }
)

t.test('whatever three agents and a clock do, the board is what the simplest board would be', { timeout: 60_000 }, async t => {
  const store = new ThreadlessRoomStore(':memory:')
  await store.open()
  t.teardown(() => store.close())
  let boards = 0
  let lapses = 0
  await fc.assert(fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 40, size: 'max' }), async sequence => {
    const both = new Boards(store, `room-${++boards}`)
    await both.run('root', 'addRoom', {})
    for (const run of sequence) await run(both)
    await both.compare()
    const { events } = await both.run('observer', 'readEvents', { kind: 'task_lapsed', limit: 500 })
    if (events.length !== both.model.lapsed) throw new Error(`${events.length} lapses are told, and there were ${both.model.lapsed}`)
    for (const [id, { notes }] of both.model.tasks) {
      if ((await both.run('observer', 'getTask', { task_id: id })).notes.length !== notes) throw new Error(`task ${id} has not its ${notes} notes`)
    }
    lapses += both.model.lapsed
  }), { numRuns: 500, interruptAfterTimeLimit: 8_000, markInterruptAsFailure: false })
  t.comment(`${boards} boards, ${lapses} lapses`)
  t.ok(boards >= 20, `${boards} boards`)
  t.ok(lapses > 0, `${lapses} leases lapsed`)
})
