import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Note, Rule } from './fault-rules'
import type { Machine } from './machine'
import { cutPower, readNotes } from './power-cut'

const LAYER = new URL('fault-layer.ts', import.meta.url).pathname

/** The fault layer in the processes of one machine: what it is told, and what it has noted. */
export class Faults {
  readonly #machine: Machine
  readonly #dir: string
  readonly #notes: string
  readonly #rules: string
  /** How long each file was when the notes were begun. */
  #sizes = new Map<string, number>()

  constructor (machine: Machine) {
    this.#machine = machine
    this.#dir = mkdtempSync(join(machine.home, 'faults-'))
    this.#notes = join(this.#dir, 'notes')
    this.#rules = join(this.#dir, 'rules')
    writeFileSync(this.#notes, '')
    this.set([])
  }

  /** For the environment of a process that shall have the layer. */
  get env (): Record<string, string> {
    return { NODE_OPTIONS: `--import=${LAYER}`, PROVE_NOTES: this.#notes, PROVE_RULES: this.#rules }
  }

  /** From now on these rules hold, in every process, and no others. Counted anew. */
  set (rules: readonly Rule[]): void {
    writeFileSync(`${this.#rules}.new`, JSON.stringify(rules))
    renameSync(`${this.#rules}.new`, this.#rules)
  }

  /** How often any rule has taken effect since the notes were begun. */
  get met (): number {
    return this.#text().split('\n').slice(0, -1).filter(line => (JSON.parse(line) as Note).note === 'fault').length
  }

  /** Once all processes have gone: leaves what a power cut may leave, and begins anew. Returns what it did, in words. */
  cutPower (next: () => number): string[] {
    const unsynced = readNotes(this.#text(), path => this.#sizes.get(path) ?? 0)
    const done = cutPower(this.#machine.stateDir, unsynced, next)
    this.begin()
    return done
  }

  /** Takes what the folder holds now for what is on the disk. */
  begin (): void {
    for (const name of ['audit.jsonl', 'tickets.json', 'tickets.json.tmp']) {
      const path = join(this.#machine.stateDir, name)
      this.#sizes.set(path, statSync(path, { throwIfNoEntry: false })?.size ?? 0)
    }
    writeFileSync(this.#notes, '')
    this.set([])
  }

  close (): void {
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #text (): string { return readFileSync(this.#notes, 'utf8') }
}
