import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { ageOf, remove, writeWhole } from './files'
import type { Settings } from './settings'
import { ourselves, WatchMarks } from './watch-marks'

/** A lock whose holder is this old has been left behind: no hook lives as long. */
const STALE_MS = 5_000
/** No process takes as long to write a file of ours. */
const LEFT_MS = 60_000

export const MODES = ['hook-only', 'mentions', 'all'] as const
export type Mode = typeof MODES[number]
export const isMode = (text: unknown): text is Mode => (MODES as readonly unknown[]).includes(text)

/** What the hook remembers. */
export interface HookMarks {
  /** When a tool's end was last used to ask, in milliseconds since 1970. */
  askedAt?: number
  /** Up to where the agent was told when it wanted to stop. */
  stoppedAt?: number
  /** Up to where events were shown, where the server refused to move the cursor. */
  shown?: number
  saidOldAt?: number
  saidDeafAt?: number
  saidDeafIn?: string
}

/** The small files of one server, credential and room. Each is for its owner alone. */
export class State {
  readonly #folder: string
  readonly #key: string
  readonly #watch: WatchMarks

  constructor ({ folder, key, session }: Pick<Settings, 'folder' | 'key' | 'session'>) {
    this.#folder = folder
    this.#key = key
    this.#watch = new WatchMarks(folder, key, ourselves(session))
  }

  path (what: 'hook.json' | 'lock' | 'mode' | 'heartbeat'): string { return join(this.#folder, `${this.#key}.${what}`) }

  /** Takes the lock: the way to give it back, or undefined where another has it. @throws where the folder cannot be written */
  lock (nowMs: number): (() => void) | undefined {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const path = this.path('lock')
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        closeSync(openSync(path, 'wx', 0o600))
        return () => { remove(path) }
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err
        const age = ageOf(path, nowMs)
        if (age !== undefined && age >= 0 && age < STALE_MS) return undefined
        remove(path)
      }
    }
    return undefined
  }

  hookMarks (): HookMarks {
    try {
      const value: unknown = JSON.parse(readFileSync(this.path('hook.json'), 'utf8'))
      return typeof value === 'object' && value !== null ? value : {}
    } catch { return {} }
  }

  /** @throws where it cannot be written */
  saveHookMarks (marks: HookMarks): void { this.#write('hook.json', JSON.stringify(marks)) }

  /** Where a watcher that starts goes on; undefined where it begins now. */
  openWatch (nowMs: number): number | undefined {
    this.sweep(nowMs)
    return this.#watch.open(nowMs)
  }

  /** The last event that this watcher has dealt with. */
  watchMark (): number | undefined { return this.#watch.last }

  /** @throws where it cannot be written */
  saveWatchMark (last: number): void { this.#watch.save(last) }

  /** Whether a watcher of the same session was started after this one. */
  isWatchDisplaced (): boolean { return this.#watch.isDisplaced() }

  /** Takes away what a process that was killed in the middle of writing has left. */
  sweep (nowMs: number): void {
    let names: string[]
    try { names = readdirSync(this.#folder) } catch { return }
    for (const path of names.filter(name => name.endsWith('.tmp')).map(name => join(this.#folder, name))) {
      if (Math.abs(ageOf(path, nowMs) ?? 0) > LEFT_MS) remove(path)
    }
  }

  /** What was set while a watcher ran, or before. */
  mode (): Mode | undefined {
    try {
      const text = readFileSync(this.path('mode'), 'utf8').trim()
      return isMode(text) ? text : undefined
    } catch { return undefined }
  }

  /** @throws where it cannot be written */
  setMode (mode: Mode): void { this.#write('mode', `${mode}\n`) }

  /** Says that the watcher lives. */
  beat (nowMs: number): void {
    const path = this.path('heartbeat')
    const touch = (): void => { utimesSync(path, nowMs / 1_000, nowMs / 1_000) }
    try {
      touch()
    } catch {
      this.#write('heartbeat', `${process.pid}\n`)
      touch()
    }
    this.#watch.touch(nowMs)
  }

  /** How long ago that was said last, in milliseconds; undefined where it never was. One of a time to come is no sign of life. */
  sinceBeat (nowMs: number): number | undefined {
    const age = ageOf(this.path('heartbeat'), nowMs)
    return age === undefined ? undefined : Math.abs(age)
  }

  #write (what: Parameters<State['path']>[0], text: string): void { writeWhole(this.path(what), text) }
}
