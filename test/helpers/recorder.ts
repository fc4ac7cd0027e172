import { match, strict } from 'tcompare'
import type { Test } from 'tap'

/** One assertion, as it was found where there is no tap. */
export interface Finding { test: string, ok: boolean, what: string }

/**
 * As much of a tap test as a contract suite uses, for a runtime that tap does not run on: it compares as tap does, and
 * writes down what it found. Tests run one after the other.
 */
export class Recorder {
  readonly findings: Finding[] = []
  #name = ''
  #last: Promise<void> = Promise.resolve()

  /** Hands a suite its `t`, and resolves when its tests are over. */
  async run (suite: (t: Test) => void): Promise<Finding[]> {
    suite(this as unknown as Test)
    await this.#last
    return this.findings
  }

  test (name: string, body: (t: this) => Promise<void>): void {
    this.#last = this.#last.then(async () => {
      this.#name = name
      try {
        await body(this)
      } catch (err) {
        this.#note(false, `threw: ${(err as Error).stack}`)
      }
    })
  }

  /** What a test leaves behind goes with its runtime. */
  teardown (): void {}

  pass (what = 'pass'): void { this.#note(true, what) }
  ok (value: unknown, what = 'is truthy'): void { this.#note(Boolean(value), what) }
  notOk (value: unknown, what = 'is not truthy'): void { this.#note(!value, what) }
  equal (found: unknown, wanted: unknown, what = 'is equal'): void { this.#compare(Object.is(found, wanted), found, wanted, what) }

  strictSame (found: unknown, wanted: unknown, what = 'is the same'): void {
    const { match: ok, diff } = strict(found, wanted)
    this.#note(ok, ok ? what : `${what}\n${diff}`)
  }

  match (found: unknown, wanted: unknown, what = 'matches'): void {
    const { match: ok, diff } = match(found, wanted)
    this.#note(ok, ok ? what : `${what}\n${diff}`)
  }

  async rejects (promise: Promise<unknown>, wanted: object, what = 'rejects'): Promise<void> {
    try {
      await promise
    } catch (err) {
      return this.match(err, wanted, what)
    }
    this.#note(false, `${what}: it did not`)
  }

  #compare (ok: boolean, found: unknown, wanted: unknown, what: string): void {
    this.#note(ok, ok ? what : `${what}\nfound ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`)
  }

  #note (ok: boolean, what: string): void { this.findings.push({ test: this.#name, ok, what }) }
}
