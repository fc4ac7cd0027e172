import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, utimesSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { ageOf, remove, writeWhole } from './files'

/** A watcher that lives gives a sign with every frame, which is every 15 s at the latest. */
const FRESH_MS = 60_000
/** For so long somebody who has no name may still come for the marks of a watcher that has ended. */
const KEPT_MS = 3_600_000
/** For so long a session is expected back, and no more of them than this. */
const SESSION_MS = 30 * 86_400_000
const SESSIONS = 50

/** Who a watcher is. */
export interface Self {
  /** What the client calls the session that it serves; unset where it has not said. */
  session?: string | undefined
  pid: number
  host: string
  isAlive: (pid: number) => boolean
}

export const ourselves = (session?: string): Self => ({ session, pid: process.pid, host: hostname(), isAlive })

interface Mark {
  path: string
  last: number
  pid: unknown
  host: unknown
  id: unknown
  /** In milliseconds, whether the clock is before or behind. */
  age: number
}

/**
 * Up to where each watcher of one server, credential and room has said what there was. Sessions that share a token have
 * a watcher and a file each, since all of them are to be woken.
 *
 * A session that the client has named finds its own file. Where there is no name, nobody knows whose mark is whose. Then
 * a watcher goes on from the lowest mark of those that have ended within the hour, and takes the place of the highest:
 * whoever comes back next finds the lowest as well. A line may come twice, and none is lost while as many come back as
 * had ended.
 */
export class WatchMarks {
  readonly #folder: string
  readonly #prefix: string
  readonly #self: Self
  readonly #own: string
  /** Tells this watcher from any other, one of its own process too. */
  readonly #id = randomBytes(6).toString('hex')
  #isClaimed = false
  #last: number | undefined

  constructor (folder: string, key: string, self: Self = ourselves()) {
    this.#folder = folder
    this.#prefix = `${key}.watch`
    this.#self = self
    const name = self.session === undefined
      ? `-${randomBytes(6).toString('hex')}`
      : `-s-${createHash('sha256').update(self.session).digest('hex').slice(0, 16)}`
    this.#own = join(folder, `${this.#prefix}${name}.json`)
  }

  /** The last event that this watcher has dealt with. */
  get last (): number | undefined { return this.#last }

  /** Where a watcher that starts goes on; undefined where it begins now. */
  open (nowMs: number): number | undefined {
    const marks = this.#all(nowMs)
    const from = this.#self.session === undefined ? this.#takeOver(marks.filter(isNameless)) : this.#return(marks)
    if (from !== undefined) try { this.#claim(from) } catch {}
    return from
  }

  /** Whether a watcher of the same session was started after this one, and lives: two would wake it twice. */
  isDisplaced (): boolean {
    if (!this.#isClaimed) return false
    const mark = read(this.#own)
    if (mark === undefined || mark.id === this.#id) return false
    return mark.host !== this.#self.host || (typeof mark.pid === 'number' && this.#self.isAlive(mark.pid))
  }

  /** Does nothing where another has the place by now. @throws where it cannot be written */
  save (last: number): void {
    if (!this.isDisplaced()) this.#claim(last)
  }

  #claim (last: number): void {
    this.#last = last
    const { pid, host } = this.#self
    writeWhole(this.#own, JSON.stringify({ last, pid, host, id: this.#id }))
    this.#isClaimed = true
  }

  /** Says that this watcher lives. */
  touch (nowMs: number): void {
    if (this.#last === undefined) return
    try { utimesSync(this.#own, nowMs / 1_000, nowMs / 1_000) } catch { this.save(this.#last) }
  }

  /** A session goes on where it was. One that is new goes on for the last that was here, unless there is one. */
  #return (marks: Mark[]): number | undefined {
    const named = marks.filter(mark => !isNameless(mark) && mark.path !== this.#own)
    for (const [at, { path, age }] of named.entries()) if (at >= SESSIONS || age > SESSION_MS) remove(path)
    const own = marks.find(({ path }) => path === this.#own)
    if (own !== undefined) return own.last
    return marks.some(mark => this.#lives(mark)) ? undefined : marks[0]?.last
  }

  #takeOver (marks: Mark[]): number | undefined {
    const ended = marks.filter(mark => !this.#lives(mark))
    const isDue = ({ age }: Mark, at: number): boolean => at === 0 || age < KEPT_MS
    for (const { path } of ended.filter((mark, at) => !isDue(mark, at))) remove(path)
    const due = ended.filter(isDue).sort((a, b) => b.last - a.last)
    // One of them may live after all, in a long outage or on another machine: its file stays its own.
    for (const { path } of due.filter(mark => !this.#mayLive(mark))) {
      try {
        renameSync(path, this.#own)
        break
      } catch {}
    }
    return due.at(-1)?.last
  }

  /** The one with the newest sign of life first. */
  #all (nowMs: number): Mark[] {
    let names: string[]
    try { names = readdirSync(this.#folder) } catch { return [] }
    return names.filter(name => name.startsWith(this.#prefix) && name.endsWith('.json')).flatMap(name => {
      const path = join(this.#folder, name)
      const age = ageOf(path, nowMs)
      const mark = read(path)
      return age === undefined || mark === undefined ? [] : [{ ...mark, path, age: Math.abs(age) }]
    }).sort((a, b) => a.age - b.age)
  }

  #lives (mark: Mark): boolean { return this.#mayLive(mark) && mark.host === this.#self.host && mark.age < FRESH_MS }

  /** A process of ours with its number, or one of another machine that was there just now. */
  #mayLive ({ pid, host, age }: Mark): boolean {
    if (typeof host === 'string' && host !== this.#self.host) return age < FRESH_MS
    return typeof pid === 'number' && pid !== this.#self.pid && this.#self.isAlive(pid)
  }
}

const isNameless = ({ path }: Mark): boolean => !/\.watch-s-[0-9a-f]+\.json$/.test(path)

function read (path: string): Omit<Mark, 'path' | 'age'> | undefined {
  let value: unknown
  try { value = JSON.parse(readFileSync(path, 'utf8')) } catch { return undefined }
  if (typeof value !== 'object' || value === null) return undefined
  const { last, pid, host, id } = value as Record<string, unknown>
  return Number.isSafeInteger(last) && (last as number) >= 0 ? { last: last as number, pid, host, id } : undefined
}

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'EPERM'
  }
}
