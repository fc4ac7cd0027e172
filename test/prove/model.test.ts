import t from 'tap'
import { MemoryTicketStore } from '../../lib/memory-store'
import type { Decision, TicketStore } from '../../lib/store'
import { model } from '../../prove/model'
import { checkModel } from '../../prove/model/check'

t.test('random commands and clocks leave every store of Node as the model of the contract says', async t => {
  const { figures, broken } = await model({ form: 'short', seed: 20_261_130, say: line => t.comment(line) })
  t.strictSame(broken, [])
  t.match(figures.map(([name]) => name), ['memory: sequences; commands; reopened', 'memory: entries', 'files: sequences; commands; reopened', 'files: entries'])
  for (const [name, value] of figures) {
    t.comment(`${name}: ${value}`)
    for (const count of value.match(/\d+/g)!) t.ok(Number(count) > 10, `${name}: ${value}`)
  }
})

/** Stores that are wrong in one small thing each. */
const WRONG: Record<string, new (options: { now: () => number }) => TicketStore> = {
  'takes a revision that does not follow': class extends MemoryTicketStore {
    #last: Promise<unknown> = Promise.resolve()
    override commit ({ ticket, event }: Decision) {
      const commit = this.#last.then(async () => {
        const rev = ((await this.get(ticket.id))?.rev ?? 0) + 1
        return super.commit({ event, ticket: { ...ticket, rev } })
      })
      this.#last = commit
      return commit
    }
  },
  'lists what settled one millisecond too long ago': class extends MemoryTicketStore {
    override list ({ since, ...filter }: Parameters<TicketStore['list']>[0]) {
      return super.list({ ...filter, ...(since !== undefined && { since: new Date(Date.parse(since) - 1).toISOString() }) })
    }
  },
  'counts a page of history from the wrong end': class extends MemoryTicketStore {
    override async history (before: number | undefined, limit: number) { return (await super.history(before, 1_000)).slice(-limit) }
  },
  'reads one entry too many': class extends MemoryTicketStore {
    override since (seq: number, limit: number) { return super.since(seq, limit + 1) }
  },
  'loses the label of the person': class extends MemoryTicketStore {
    override commit ({ ticket, event }: Decision) { return super.commit({ ticket, event: { ...event, actor: event.event === 'answered' ? 'human' : event.actor } }) }
  }
}

t.test('a store that is wrong in one small thing is found out, with the sequence that shows it', async t => {
  for (const [what, Store] of Object.entries(WRONG)) {
    const check = checkModel(async now => {
      const store = new Store({ now })
      return { store, drop: () => store.close() }
    }, { seed: 1, runs: 200, length: 60 })
    await t.rejects(check, { message: /Counterexample/ }, what)
  }
})
