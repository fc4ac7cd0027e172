import { Check } from './check'
import { httpDoor, type Outcome, stdioDoor } from './commands'
import { Faults } from './faults'
import { between } from './harness'
import { exactInstant, type Instant, instantOf } from './instants'
import { Ledger } from './ledger'
import { Load } from './load'
import { type AgentProgram, Machine } from './machine'

export interface Setting {
  /** Who owns the store: a service, or one of the agents' own processes, of which another takes over. */
  owner: 'service' | 'agents'
  /** What is lost beside the process: nothing, or what a power cut takes, and then every process at once. */
  loss: 'process' | 'power'
  kills: number
}

export interface Totals {
  kills: Record<Instant, number>
  /** From a kill to the daemon that answers next, in milliseconds. */
  recoveries: number[]
  ledgers: Ledger[]
  entries: number
  /** What power cuts have left, in words, and how often. */
  left: Map<string, number>
}

const AGENTS = 6
const PEOPLE = 4
/** Processes of agents that speak MCP on their pipes, where they are in the setting. */
const STDIO = 3
/** How long a process that is to die somewhere has for coming there, in milliseconds. */
const DEADLINE_MS = 3_000

const pause = (ms: number): Promise<void> => new Promise(resolve => { setTimeout(resolve, ms) })

/** One state folder, and those who use it, through as many kills. */
export class CrashWorld {
  readonly #setting: Setting
  readonly #name: string
  readonly #next: () => number
  readonly #totals: Totals
  readonly #machine: Machine
  readonly #ledger = new Ledger()
  readonly #check: Check
  readonly #faults: Faults | undefined
  #agents: AgentProgram[] = []

  private constructor (setting: Setting, name: string, next: () => number, totals: Totals, machine: Machine) {
    this.#setting = setting
    this.#name = `${setting.owner} ${name}`
    this.#next = next
    this.#totals = totals
    this.#machine = machine
    this.#check = new Check(machine, this.#ledger)
    // What loses its process alone runs as it was installed.
    if (setting.loss === 'power') this.#faults = new Faults(machine)
    totals.ledgers.push(this.#ledger)
  }

  /** Makes a world, runs it and takes it down. Returns what was broken in it. */
  static async run (setting: Setting, name: string, next: () => number, totals: Totals): Promise<string[]> {
    return new CrashWorld(setting, name, next, totals, await Machine.create()).#run()
  }

  async #run (): Promise<string[]> {
    const broken: string[] = []
    let at = 'at the start'
    try {
      await this.#staff()
      // What comes after a loss says nothing any more.
      for (let n = 0; n < this.#setting.kills && broken.length === 0; n++) {
        at = `kill ${n}`
        const how = await this.#kill(n)
        broken.push(...(await this.#check.look()).map(sentence => `${this.#name}, ${at} (${how}): ${sentence}`))
      }
      at = 'at the end'
      if (broken.length === 0) broken.push(...(await this.#check.lookWhole()).map(sentence => `${this.#name}, ${at}: ${sentence}`))
    } catch (err) {
      broken.push(`${this.#name}, ${at}: ${err instanceof Error ? err.message : String(err)}`)
    } finally {
      this.#totals.entries += this.#check.entries
      await this.#machine.close()
    }
    return broken
  }

  get #env (): Record<string, string> { return this.#faults?.env ?? {} }

  /** Brings every process up that belongs to this setting. */
  async #staff (): Promise<void> {
    const machine = this.#machine
    if (this.#setting.owner === 'service') {
      if (machine.alive.length === 0) await machine.serving(machine.serve(this.#env))
      return
    }
    this.#agents = this.#agents.filter(({ over }) => !over)
    const hired = Array.from({ length: STDIO - this.#agents.length }, () => machine.agent(this.#env))
    this.#agents.push(...hired)
    await Promise.all(hired.map(agent => agent.initialize()))
    await machine.serving()
  }

  /** Kills the daemon while everybody is at it, and brings another one up. Returns, in words, how. */
  async #kill (n: number): Promise<string> {
    const instant = instantOf(n)
    this.#totals.kills[instant]++
    const enough = Promise.withResolvers<void>()
    const wanted = between(this.#next, 1, 150)
    let acknowledged = 0
    const load = this.#load(`${this.#name}-${n}`, ({ kind }) => {
      if (kind === 'acknowledged' && ++acknowledged === wanted) enough.resolve()
    })
    const how = this.#faults === undefined ? [] : [JSON.stringify(exactInstant(instant, this.#next))]
    if (instant === 'at work' && how.length > 0) this.#arm(how[0]!)
    else await Promise.race([enough.promise, load.over])
    const daemon = this.#machine.daemon()
    if (daemon === undefined) throw new Error('There is no daemon to kill')
    if (instant === 'closing') {
      if (how.length > 0) this.#arm(how[0]!)
      daemon.kill('SIGTERM')
    }
    // Where no exact place was named, somewhere in the milliseconds that a commit or an end takes.
    if (how.length === 0 || instant === 'starting') await pause(this.#next() * (instant === 'closing' ? 40 : 4))
    else await Promise.race([daemon.gone, pause(DEADLINE_MS)])
    daemon.kill()
    const start = performance.now()
    await daemon.gone
    this.#faults?.set([])
    if (this.#setting.loss === 'power') how.push(...await this.#cutPower())
    if (instant === 'starting') how.push(...await this.#killStarting(how[0]))
    await this.#staff()
    this.#totals.recoveries.push(performance.now() - start)
    // What was under way over a client's process goes on with the next daemon, and is over before anybody looks.
    await load.stop()
    return [instant, ...how].join('; ')
  }

  #load (round: string, heard: (outcome: Outcome) => void): Load {
    const machine = this.#machine
    const overHttp = Array.from({ length: AGENTS }, (_, i) => httpDoor(machine, `agent-${i}`))
    const doors = [...overHttp, ...this.#agents.map(stdioDoor)]
    return new Load({ machine, ledger: this.#ledger, next: this.#next, doors, people: PEOPLE, pending: this.#check.pending(), round, heard })
  }

  #arm (rule: string): void {
    this.#faults!.set([JSON.parse(rule)])
  }

  /** Everything on the machine stops, and the disk keeps what it must. Now and then the power stays on. */
  async #cutPower (): Promise<string[]> {
    if (this.#next() < 0.25) return []
    await this.#machine.killAll()
    const done = this.#faults!.cutPower(this.#next)
    for (const what of done) this.#totals.left.set(what, (this.#totals.left.get(what) ?? 0) + 1)
    return done
  }

  /** The next daemon does not live long enough to finish its start, or only just; and then the power goes again. */
  async #killStarting (rule: string | undefined): Promise<string[]> {
    if (rule !== undefined) this.#arm(rule)
    const next = this.#setting.owner === 'service' ? this.#machine.serve(this.#env) : this.#machine.agent(this.#env)
    await Promise.race([pause(between(this.#next, 100, 600)), next.gone])
    next.kill()
    await next.gone
    this.#faults?.set([])
    return this.#setting.loss === 'power' ? this.#cutPower() : []
  }
}
