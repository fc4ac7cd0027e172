import { type Ailment, byFilling, byRules, type Cause, SmallDisk } from './ailments'
import { Check } from './check'
import { httpDoor, type Outcome } from './commands'
import { Faults } from './faults'
import { between } from './harness'
import { Ledger } from './ledger'
import { Load } from './load'
import { Machine, type Program, until } from './machine'

export interface DiskTotals {
  ledgers: Ledger[]
  entries: number
  /** Refusals, by what the disk had. */
  refused: Map<string, number>
  /** From the disk being well to the next acknowledgement, in milliseconds. */
  recoveries: number[]
  /** The longest that a caller waited for a refusal, in milliseconds. */
  slowestRefusal: number
  /** Callers who were told that it may be there at the next start. */
  unsure: number
  reads: number
  kills: number
}

const AGENTS = 6
const PEOPLE = 3
/** A failing call is told at once; so much is a busy machine's, in milliseconds. */
const PROMPT_MS = 5_000
/** What a refusal has to add to its reason. */
const HELPFUL = /Every ticket is as it was|every ticket is as it was/

const NOT_TAKEN_BACK = /may be there at the next start/

/** One daemon on one disk that gets ill and well again, several times. */
export class DiskWorld {
  readonly #ailment: Ailment
  readonly #name: string
  readonly #next: () => number
  readonly #totals: DiskTotals
  readonly #machine: Machine
  readonly #ledger = new Ledger()
  readonly #check: Check
  readonly #faults: Faults | undefined
  readonly #disk: SmallDisk | undefined
  readonly #cause: Cause
  readonly #broken: string[] = []
  #daemon: Program | undefined
  #rounds = 0
  #sick = 0
  #acknowledged = 0

  private constructor (machine: Machine, ailment: Ailment, small: boolean, next: () => number, totals: DiskTotals) {
    this.#machine = machine
    this.#ailment = ailment
    this.#name = small ? `${ailment.name} (a file system of 8 MiB)` : ailment.name
    this.#next = next
    this.#totals = totals
    this.#check = new Check(machine, this.#ledger)
    this.#disk = small ? SmallDisk.mount(machine.stateDir) : undefined
    this.#faults = small ? undefined : new Faults(machine)
    this.#cause = this.#disk !== undefined ? byFilling(this.#disk) : byRules(this.#faults!, ailment.rules)
    totals.ledgers.push(this.#ledger)
  }

  /**
   * Makes a world, lets its disk fall ill so often, and takes it down. Returns what was broken. `small`: on a real file
   * system that is really full, for whoever may mount one.
   */
  static async run (ailment: Ailment, times: number, next: () => number, totals: DiskTotals, { small = false } = {}): Promise<string[]> {
    const machine = await Machine.create()
    return new DiskWorld(machine, ailment, small, next, totals).#run(times)
  }

  async #run (times: number): Promise<string[]> {
    const machine = this.#machine
    let at = 'at the start'
    try {
      await this.#start()
      for (let n = 0; n < times && this.#broken.length === 0; n++) {
        at = `time ${n}`
        await this.#work(between(this.#next, 20, 60))
        await this.#fallIll(n % 2 === 1)
        await this.#work(between(this.#next, 20, 60))
        this.#broken.push(...await this.#check.look())
      }
      at = 'at the end'
      await this.#endWhileIll()
      this.#broken.push(...await this.#check.look(), ...await this.#check.lookWhole())
    } catch (err) {
      this.#broken.push(err instanceof Error ? err.message : String(err))
    } finally {
      this.#totals.entries += this.#check.entries
      await machine.killAll()
      this.#disk?.unmount()
      await machine.close()
    }
    // Many callers are told the same.
    return [...new Set(this.#broken)].map(sentence => `${this.#name}, ${at}: ${sentence}`)
  }

  async #start (): Promise<void> {
    this.#daemon = this.#machine.serve(this.#faults?.env)
    await this.#machine.serving(this.#daemon)
  }

  #load (heard: (outcome: Outcome) => void): Load {
    const doors = Array.from({ length: AGENTS }, (_, i) => httpDoor(this.#machine, `agent-${i}`))
    return new Load({
      machine: this.#machine,
      ledger: this.#ledger,
      next: this.#next,
      doors,
      people: PEOPLE,
      pending: this.#check.pending(),
      round: `${this.#name}-${this.#rounds++}`,
      heard: outcome => {
        if (outcome.kind === 'acknowledged') this.#acknowledged++
        heard(outcome)
      },
      persistent: true
    })
  }

  /** Everybody is at work until so much is acknowledged; nothing may be refused. */
  async #work (wanted: number): Promise<void> {
    const end = this.#acknowledged + wanted
    const load = this.#load(outcome => this.#expectWell(outcome))
    await until(() => this.#acknowledged >= end || undefined, `${wanted} acknowledgements on a disk that is well`)
    await load.stop()
  }

  #expectWell (outcome: Outcome): void {
    if (outcome.kind === 'refused' && outcome.code === 'STORE_UNAVAILABLE') this.#broken.push(`refused on a disk that is well: ${outcome.message}`)
    if (outcome.kind === 'unsaid') this.#broken.push(`no answer on a disk that is well: ${outcome.why}`)
  }

  /**
   * The disk fails under load: whoever is refused is told why and what to do, at once, and reading goes on. Then it is
   * well again, or the daemon is killed before that.
   */
  async #fallIll (kill: boolean): Promise<void> {
    const { says } = this.#ailment
    let [refused, unhelpful, done] = [0, '', 0]
    let well = false
    const load = this.#load(outcome => {
      done++
      if (outcome.kind === 'acknowledged' || (outcome.kind === 'refused' && outcome.code !== 'STORE_UNAVAILABLE')) return
      const text = outcome.kind === 'refused' ? outcome.message : outcome.why
      if (well && kill) return
      refused++
      if (NOT_TAKEN_BACK.test(text)) this.#totals.unsure++
      if (outcome.kind === 'refused') this.#totals.slowestRefusal = Math.max(this.#totals.slowestRefusal, outcome.afterMs)
      if (says === undefined || !says.test(text) || !HELPFUL.test(text)) unhelpful ||= text
    })
    this.#cause.begin()
    await until(() => (says === undefined ? done > 20 : refused > 20 || this.#isOver()) || undefined, 'calls on a disk that is ill')
    await this.#read()
    const since = performance.now()
    if (kill) {
      well = true
      await this.#killDaemon()
      this.#cause.end()
      await this.#start()
    } else {
      this.#cause.end()
    }
    const before = this.#acknowledged
    await until(() => this.#acknowledged > before || undefined, 'an acknowledgement once the disk is well')
    if (!kill) this.#totals.recoveries.push(performance.now() - since)
    await load.stop()
    if (this.#daemon!.over) this.#broken.push(`the daemon ended:\n${this.#daemon!.stderr}`)
    if (unhelpful !== '') this.#broken.push(`a refusal does not say what is wrong and what to do: ${unhelpful}`)
    if (says !== undefined && refused === 0) this.#broken.push('nothing was refused: the disk was not ill')
    if (this.#totals.slowestRefusal > PROMPT_MS) this.#broken.push(`a caller waited ${this.#totals.slowestRefusal.toFixed(0)} ms to be refused`)
    this.#sick += refused
    this.#totals.refused.set(this.#name, this.#sick)
  }

  /** An ailment that passes by itself, so many operations later. */
  #isOver (): boolean {
    const { rules } = this.#ailment
    return rules.every(({ times }) => times !== undefined) && (this.#faults?.met ?? 0) >= rules.length
  }

  async #read (): Promise<void> {
    for (const path of ['/api/tickets', '/api/history', '/api/audit', '/healthz', '/']) {
      const response = await fetch(this.#machine.url + path)
      const text = await response.text()
      if (response.ok) this.#totals.reads++
      else this.#broken.push(`GET ${path} is ${response.status} while the disk is ill: ${text}`)
    }
  }

  async #killDaemon (): Promise<void> {
    this.#totals.kills++
    this.#daemon!.kill()
    await this.#daemon!.gone
  }

  /** A stop on a disk that is ill ends in time, and the next start finds everything that was acknowledged. */
  async #endWhileIll (): Promise<void> {
    this.#cause.begin()
    this.#daemon!.kill('SIGTERM')
    await until(() => this.#daemon!.over || undefined, 'the end of a daemon on a disk that is ill', PROMPT_MS)
    this.#cause.end()
    await this.#start()
  }
}
