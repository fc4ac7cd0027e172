import { httpDoor, stdioDoor } from './commands'
import { Check } from './check'
import { between, type Proof, type ProofOptions, random } from './harness'
import { Ledger } from './ledger'
import { Load } from './load'
import { type AgentProgram, Machine, type Program } from './machine'

/** Who owns the store: a service, or one of the agents' own processes, of which another takes over. */
type Setting = 'service' | 'agents'

/** The instant at which the daemon is killed. */
type Instant = 'at work' | 'closing' | 'starting'

/** State folders of one run, each with so many kills: what has to be remembered is bounded by one of them. */
const WORLDS = {
  short: [{ setting: 'service', kills: 10 }, { setting: 'agents', kills: 6 }],
  long: Array.from({ length: 10 }, (_, i) => ({ setting: i % 2 === 0 ? 'service' : 'agents', kills: 30 }))
} as const satisfies Record<string, ReadonlyArray<{ setting: Setting, kills: number }>>

const AGENTS = 6
const PEOPLE = 4
/** Processes of agents that speak MCP on their pipes. */
const STDIO = 3

interface Totals { kills: Record<Instant, number>, recoveries: number[], ledgers: Ledger[], entries: number }

/** Kills the daemon under load, again and again, and looks at what it has promised. */
export async function crash ({ form, seed, say }: ProofOptions): Promise<Proof> {
  const next = random(seed)
  const broken: string[] = []
  const totals: Totals = { kills: { 'at work': 0, closing: 0, starting: 0 }, recoveries: [], ledgers: [], entries: 0 }
  for (const [i, { setting, kills }] of WORLDS[form].entries()) {
    const world = new World(setting, `${i}`, next, totals)
    broken.push(...await world.run(kills))
    say(`${setting}: ${kills} kills, ${broken.length} broken promises so far`)
  }
  const sum = (of: (ledger: Ledger) => number): string => totals.ledgers.reduce((all, ledger) => all + of(ledger), 0).toLocaleString('en-US')
  const sorted = totals.recoveries.toSorted((a, b) => a - b)
  return {
    broken,
    figures: [
      ...Object.entries(totals.kills).map(([instant, count]) => [`killed while ${instant}`, String(count)] as const),
      ['commands acknowledged', sum(({ counts }) => counts.acknowledged)],
      ['commands without an answer', sum(({ counts }) => counts.unsaid)],
      ['of those, there all the same', sum(({ counts }) => counts.unsaidButThere)],
      ['entries in the audit logs', totals.entries.toLocaleString('en-US')],
      ['from a kill to the next daemon, median and longest', `${sorted[sorted.length >> 1]?.toFixed(0)} and ${sorted.at(-1)?.toFixed(0)} ms`]
    ]
  }
}

class World {
  readonly #setting: Setting
  readonly #name: string
  readonly #next: () => number
  readonly #totals: Totals
  readonly #ledger = new Ledger()
  #agents: AgentProgram[] = []

  constructor (setting: Setting, name: string, next: () => number, totals: Totals) {
    this.#setting = setting
    this.#name = name
    this.#next = next
    this.#totals = totals
    totals.ledgers.push(this.#ledger)
  }

  async run (kills: number): Promise<string[]> {
    const machine = await Machine.create()
    const check = new Check(machine, this.#ledger)
    const broken: string[] = []
    try {
      await this.#staff(machine)
      for (let n = 0; n < kills && broken.length === 0; n++) {
        await this.#kill(machine, check, n)
        broken.push(...(await check.look()).map(sentence => `${this.#setting} ${this.#name}, kill ${n}: ${sentence}`))
      }
      broken.push(...(await check.lookWhole()).map(sentence => `${this.#setting} ${this.#name}, at the end: ${sentence}`))
    } catch (err) {
      broken.push(`${this.#setting} ${this.#name}: ${err instanceof Error ? err.message : String(err)}`)
    } finally {
      this.#totals.entries += check.entries
      await machine.close()
    }
    return broken
  }

  /** Brings every process up that belongs to this setting. */
  async #staff (machine: Machine): Promise<void> {
    if (this.#setting === 'service') {
      if (machine.alive.length === 0) await machine.serving(machine.serve())
      return
    }
    this.#agents = this.#agents.filter(({ over }) => !over)
    while (this.#agents.length < STDIO) this.#agents.push(machine.agent())
    await Promise.all(this.#agents.map(agent => agent.initialize()))
    await machine.serving()
  }

  async #kill (machine: Machine, check: Check, n: number): Promise<void> {
    const next = this.#next
    const instant: Instant = n % 5 === 3 ? 'closing' : n % 5 === 4 ? 'starting' : 'at work'
    this.#totals.kills[instant]++
    const enough = Promise.withResolvers<void>()
    const wanted = between(next, 1, 150)
    const load = new Load({
      machine,
      ledger: this.#ledger,
      next,
      doors: [...Array.from({ length: AGENTS }, (_, i) => httpDoor(machine, `agent-${i}`)), ...this.#agents.map(stdioDoor)],
      people: PEOPLE,
      pending: check.pending(),
      round: `${this.#name}-${n}`,
      onAcknowledged: count => { if (count === wanted) enough.resolve() }
    })
    await Promise.race([enough.promise, load.over])
    // Somewhere in the few milliseconds that one commit takes.
    await pause(next() * 4)
    const daemon = machine.daemon()
    if (daemon === undefined) throw new Error('There is no daemon to kill')
    if (instant === 'closing') {
      daemon.kill('SIGTERM')
      await pause(next() * 40)
    }
    daemon.kill()
    const start = performance.now()
    await daemon.gone
    if (instant === 'starting') await this.#killStarting(machine)
    await this.#staff(machine)
    this.#totals.recoveries.push(performance.now() - start)
    // What was under way over a client's process goes on with the next daemon, and is over before anybody looks.
    await load.stop()
  }

  /** The next daemon does not live long enough to finish its start, or only just. */
  async #killStarting (machine: Machine): Promise<void> {
    const successor: Program = this.#setting === 'service' ? machine.serve() : machine.agent()
    await Promise.race([pause(between(this.#next, 100, 500)), successor.gone])
    successor.kill()
    await successor.gone
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => { setTimeout(resolve, ms) })
