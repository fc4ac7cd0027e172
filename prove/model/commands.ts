import fc from 'fast-check'
import type { Desk } from '../../lib/desk'
import { mintId } from '../../lib/lifecycle'
import type { Status, Ticket } from '../../schemas/ticket'
import type { Outcome, QueueModel } from './queue'
import { asked, jumps, pick, texts } from './inputs'
import { agree, factOf, outcomeOf, permutations, type Real } from './real'
import { OWNER } from '../../lib/principal'

// One command each: the same thing done to the model and to the real queue, and what both say compared.

type Command = fc.AsyncCommand<QueueModel, Real>

/** A command that any state allows. `toString` is what a counterexample is read from. */
const command = (name: string, run: (model: QueueModel, real: Real) => Promise<void>): Command =>
  ({ check: () => true, run, toString: () => name })

/** The id that a number stands for: of a ticket there is, mostly; else of none. */
const idOf = (model: QueueModel, which: number): string => pick(model.ids, which) ?? '00000000-0000-7000-8000-000000000000'

/** What settles or changes one ticket, done to the model or to the desk. */
export interface Change { kind: 'answer' | 'undo' | 'cancel' | 'get', text: string, label: string | undefined }

const toModel = (model: QueueModel, id: string, { kind, text, label }: Change): Outcome =>
  kind === 'answer' ? model.answer(id, text, label) : model[kind](id)

const toDesk = (desk: Desk, id: string, { kind, text, label }: Change): Promise<Ticket> =>
  kind === 'answer' ? desk.answer(id, text, OWNER, label) : kind === 'undo' ? desk.undo(id, OWNER) : desk[kind](id)

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('answer', 'answer', 'undo', 'undo', 'cancel', 'get'),
  text: fc.oneof({ arbitrary: texts(50), weight: 9 }, { arbitrary: fc.constant(' \n'), weight: 1 }),
  label: fc.option(texts(10), { nil: undefined })
})
const which = fc.nat(1_000)
const show = (value: unknown): string => fc.stringify(value).slice(0, 200)

const ask = fc.record({ asked: asked(), known: fc.option(which, { nil: undefined }), skew: fc.integer({ min: -1_000_000, max: 1_000_000 }) })
  .map(({ asked, known, skew }) => command(`ask(${show(asked)}, known ${known}, ${skew})`, async (model, real) => {
    // Without an id the desk mints one; with one of a number it is that of a ticket there is, or a client's own.
    const given = known === undefined ? undefined : known % 3 === 0 ? mintId(model.wall + skew) : idOf(model, known)
    const found = await outcomeOf(real.desk.ask(asked, given))
    const id = given ?? ('result' in found ? (found.result as Ticket).id : 'refused')
    if (given === undefined && model.ids.some(other => other === id)) throw new Error(`${id} was given twice`)
    agree('ask', model.ask(asked, id), found)
  }))

const flood = fc.record({ asked: asked(20), count: fc.integer({ min: 100, max: 300 }) })
  .map(({ asked, count }) => command(`flood(${show(asked)}, ${count})`, async (model, real) => {
    const ids = Array.from({ length: count }, () => mintId(model.wall))
    const found = await Promise.all(ids.map(id => outcomeOf(real.desk.ask(asked, id))))
    agree('flood', ids.map(id => model.ask(asked, id)), found)
  }))

const one = fc.record({ which, change }).map(({ which, change }) => command(`${show(change)} of ${which}`, async (model, real) => {
  const id = idOf(model, which)
  agree(change.kind, toModel(model, id, change), await outcomeOf(toDesk(real.desk, id, change)))
}))

/** Several at once: what came of it must be what some order of them gives, one after the other. */
const race = fc.record({ which, changes: fc.array(change, { minLength: 2, maxLength: 4 }) })
  .map(({ which, changes }) => command(`race(${show(changes)} of ${which})`, async (model, real) => {
    const id = idOf(model, which)
    const found = await Promise.all(changes.map(change => outcomeOf(toDesk(real.desk, id, change))))
    const news = await real.news()
    const orders = permutations(changes.map((_, index) => index)).map(order => {
      const after = model.clone()
      const outcomes: Outcome[] = []
      for (const index of order) outcomes[index] = toModel(after, id, changes[index]!)
      return { after, outcomes }
    })
    const fits = orders.find(({ after, outcomes }) => isSame(outcomes, found) && isSame(after.facts.slice(model.facts.length), news))
    if (fits === undefined) {
      agree('race', orders[0]!.outcomes, found)
      agree('race, in the log', orders[0]!.after.facts.slice(model.facts.length), news)
    }
    model.facts = fits!.after.facts
    real.seen = model.facts.length
  }))

const isSame = (a: unknown, b: unknown): boolean => {
  try {
    agree('', a, b)
    return true
  } catch { return false }
}

const wait = fc.record({ which, change }).map(({ which, change }) => command(`wait for ${which}, while ${show(change)}`, async (model, real) => {
  const id = idOf(model, which)
  agree('wait of no time', model.get(id), await outcomeOf(real.desk.wait(id, { ms: 0 })))
  const before = model.get(id)
  if (!('result' in before) || (before.result as Ticket).status !== 'pending' || (change.kind !== 'answer' && change.kind !== 'cancel')) return
  const gone = new AbortController()
  const waiting = outcomeOf(real.desk.wait(id, { ms: 30_000, signal: gone.signal }))
  agree(change.kind, toModel(model, id, change), await outcomeOf(toDesk(real.desk, id, change)))
  const after = model.get(id)
  // A refused change wakes nobody: the one who waits leaves.
  if ('result' in after && (after.result as Ticket).status === 'pending') gone.abort()
  agree('wait', after, await waiting)
  if (real.desk.waiting !== 0) throw new Error(`${real.desk.waiting} still wait`)
}))

const read = fc.record({ seq: fc.nat(60), limit: fc.integer({ min: 1, max: 40 }), isBounded: fc.boolean() })
  .map(({ seq, limit, isBounded }) => command(`history(${isBounded ? seq : undefined}, ${limit}), since(${seq}, ${limit})`, async (model, real) => {
    const before = isBounded ? seq : undefined
    agree('history', model.history(before, limit), await outcomeOf(real.desk.history(before, limit)))
    agree('since', model.since(seq, limit), { result: (await real.desk.since(seq, limit)).map(factOf) })
  }))

const list = fc.constantFrom('list' as const, 'pending' as const).map(kind => command(kind, async (model, real) => {
  agree(kind, model[kind](), await outcomeOf(real.desk[kind]()))
  if (kind === 'pending') agree('the count', model.stored({ status: 'pending' }).length, real.desk.pendingCount)
}))

const stored = fc.record({
  status: fc.option(fc.constantFrom<Status>('pending', 'answered', 'expired', 'cancelled'), { nil: undefined }),
  ago: fc.option(jumps, { nil: undefined })
}).map(({ status, ago }) => command(`store.list(${status}, ${ago} ago)`, async (model, real) => {
  const since = ago === undefined ? undefined : new Date(model.wall - ago).toISOString()
  const filter = { ...(status !== undefined && { status }), ...(since !== undefined && { since }) }
  agree('store.list', model.stored(filter), await real.store.list(filter))
}))

const clock = jumps.map(ms => command(`clock(${ms})`, async (model, real) => {
  model.wall += ms
  real.clock.ms = model.wall
}))

/** To the very millisecond at which something about a ticket ends, or one beside it; then the list, where it shows. */
const edge = fc.record({ which, end: fc.constantFrom('expires' as const, 300_000, 86_400_000), beside: fc.constantFrom(-1, 0, 1) })
  .map(({ which, end, beside }) => command(`clock to ${end} of ${which}, ${beside}, and list`, async (model, real) => {
    const fact = model.facts.findLast(({ id }) => id === idOf(model, which))
    if (fact === undefined) return
    model.wall = beside + (end === 'expires' ? Date.parse(fact.ticket.expires_at) : Date.parse(fact.at) + end)
    real.clock.ms = model.wall
    agree('store.list', model.stored({}), await real.store.list({}))
    agree('list', model.list(), await outcomeOf(real.desk.list()))
  }))

const reopen = fc.constant(command('reopen', async (_model, real) => real.reopen()))

const weigh = (weight: number, arbitrary: fc.Arbitrary<Command>) => ({ weight, arbitrary })

/** Any sequence of what an agent, a person, a clock and an operator can do. */
export const commands = (most: number): fc.Arbitrary<Iterable<Command>> => fc.commands([fc.oneof(
  weigh(30, ask), weigh(50, one), weigh(8, race), weigh(8, wait), weigh(6, read), weigh(6, list), weigh(4, stored), weigh(14, clock), weigh(8, edge),
  weigh(4, reopen), weigh(1, flood)
)], { maxCommands: most, size: 'max' })
