import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from './settings'

/** A lock whose holder is this old has been left behind: no hook lives as long. */
const STALE_MS = 5_000

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

  constructor ({ folder, key }: Pick<Settings, 'folder' | 'key'>) {
    this.#folder = folder
    this.#key = key
  }

  path (what: 'hook.json' | 'lock' | 'mode' | 'heartbeat' | 'watch.json'): string { return join(this.#folder, `${this.#key}.${what}`) }

  /** Takes the lock: the way to give it back, or undefined where another has it. @throws where the folder cannot be written */
  lock (nowMs: number): (() => void) | undefined {
    this.#make()
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

  hookMarks (): HookMarks { return this.#read('hook.json') as HookMarks }

  /** @throws where it cannot be written */
  saveHookMarks (marks: HookMarks): void { this.#write('hook.json', JSON.stringify(marks)) }

  /** The last event that a watcher has dealt with. */
  watchMark (): number | undefined {
    const { last } = this.#read('watch.json') as { last?: unknown }
    return Number.isSafeInteger(last) && (last as number) >= 0 ? last as number : undefined
  }

  /** @throws where it cannot be written */
  saveWatchMark (last: number): void { this.#write('watch.json', JSON.stringify({ last })) }

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
  }

  /** How long ago that was said last, in milliseconds; undefined where it never was. */
  sinceBeat (nowMs: number): number | undefined { return ageOf(this.path('heartbeat'), nowMs) }

  #read (what: 'hook.json' | 'watch.json'): object {
    try {
      const value: unknown = JSON.parse(readFileSync(this.path(what), 'utf8'))
      return typeof value === 'object' && value !== null ? value : {}
    } catch { return {} }
  }

  /** In one step: whoever reads it finds the old text or the new one. */
  #write (what: Parameters<State['path']>[0], text: string): void {
    this.#make()
    const path = this.path(what)
    const temporary = `${path}.${process.pid}.tmp`
    try {
      writeFileSync(temporary, text, { mode: 0o600 })
      renameSync(temporary, path)
    } catch (err) {
      remove(temporary)
      throw err
    }
  }

  #make (): void { mkdirSync(this.#folder, { recursive: true, mode: 0o700 }) }
}

function ageOf (path: string, nowMs: number): number | undefined {
  try { return nowMs - statSync(path).mtimeMs } catch { return undefined }
}

function remove (path: string): void {
  try { unlinkSync(path) } catch {}
}
