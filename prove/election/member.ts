import type { Running, World } from '../../test/helpers/process'
import type { Ledger } from './ledger'

/** How long a call may go without a reply before it counts as lost, in milliseconds. */
const PATIENCE_MS = 60_000

/** How long a process has to end once it was told to, in milliseconds. */
const ENDING_MS = 5_000

/** An agent and its process, which speaks MCP over its pipes and writes down what it is told. */
export class Member {
  readonly name: string
  readonly running: Running
  readonly #ledger: Ledger
  #asked = 0
  /** The process was ended on purpose; its calls under way go with it. `perhaps`: it may be the one that is. */
  doomed: boolean | 'perhaps' = false
  /** Replies that a doomed process still owed. */
  unanswered = 0
  /** What was not as promised. */
  readonly broken: string[] = []

  constructor (world: World, name: string, ledger: Ledger) {
    this.name = name
    this.running = world.start([], { cwd: name })
    this.#ledger = ledger
  }

  get pid (): number { return this.running.pid }

  /** Resolves when the process has said hello, which needs no daemon. */
  async hello (): Promise<this> {
    await this.running.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: this.name, version: '1' } }, PATIENCE_MS)
    this.running.say({ method: 'notifications/initialized' })
    return this
  }

  /** Asks something that nobody has asked before. Resolves with the id and when it was acknowledged, or undefined with a doomed process. */
  async ask (): Promise<{ id: string, at: number } | undefined> {
    const question = `May I, ${this.name} ${++this.#asked}?`
    this.#ledger.asks(question)
    try {
      const { id } = await this.running.call('ask_human', { question }, PATIENCE_MS)
      const at = performance.now()
      this.#ledger.acknowledged(question, id)
      return { id, at }
    } catch (err) {
      if (await this.#lost(question, err)) this.#ledger.excused(question)
      return undefined
    }
  }

  /** Waits for the answer, which must be this one. */
  async wait (id: string, text: string): Promise<void> {
    try {
      const { status, answer } = await this.running.call('wait_for_answer', { id, timeout_seconds: 600 }, PATIENCE_MS)
      if (status === 'pending' && await this.#ends()) return
      if (status !== 'answered' || answer !== `HUMAN ANSWER: ${text}`) this.broken.push(`The wait of ${this.name} for ${id} ended with ${status}, "${answer}"`)
    } catch (err) {
      await this.#lost(`the wait for ${id}`, err)
    }
  }

  /** Its agent leaves: the end of its standard input. */
  leave (): void {
    this.doomed = true
    this.running.child.stdin!.end()
  }

  kill (signal: NodeJS.Signals): void {
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') this.doomed = true
    this.running.kill(signal)
  }

  /** Whether that is because the process was ended. */
  async #lost (call: string, err: unknown): Promise<boolean> {
    if (await this.#ends()) {
      this.unanswered++
      return true
    }
    this.broken.push(`${this.name} (pid ${this.pid}) had no reply to ${call}: ${(err as Error).message}`)
    return false
  }

  async #ends (): Promise<boolean> {
    if (this.doomed !== 'perhaps') return this.doomed
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, ENDING_MS, false)
    this.running.finished.then(() => resolve(true))
    return promise.finally(() => clearTimeout(timer))
  }
}
