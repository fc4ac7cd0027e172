// What a power cut may leave of a state folder: of what was synced everything, of what was not anything at all.
import { existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Note } from './fault-rules'
import { between } from './harness'

interface FileState {
  /** Bytes before this one are on the disk. */
  safe: number
  /** Where the content ends, so far as was noted. */
  size: number
  /** What was cut off since the last sync, and from where: it may come back. */
  cuts: Array<{ to: number, kept: string }>
}

export interface Unsynced {
  files: Map<string, FileState>
  /** Files and folders whose names no sync of their folder has covered. */
  names: Set<string>
  /** Renames that no sync of their folder has covered. */
  renames: Array<{ from: string, to: string, kept: string | undefined, wasSafe: boolean }>
}

/** Works out what was on its way to the disk when the last note was made. `sizes` says how long files were before the first. */
export function readNotes (text: string, sizeBefore: (path: string) => number): Unsynced {
  const files = new Map<string, FileState>()
  const names = new Set<string>()
  let renames: Unsynced['renames'] = []
  const under = new Map<string, number>()
  const stateOf = (path: string): FileState => {
    let state = files.get(path)
    if (state === undefined) files.set(path, state = { safe: sizeBefore(path), size: sizeBefore(path), cuts: [] })
    return state
  }
  // The last line may not be whole.
  for (const line of text.split('\n').slice(0, -1)) {
    const note = JSON.parse(line) as Note
    if (note.note === 'made') {
      names.add(note.path)
      files.set(note.path, { safe: 0, size: 0, cuts: [] })
    } else if (note.note === 'write') {
      const state = stateOf(note.path)
      state.safe = Math.min(state.safe, note.from)
      state.size = Math.max(state.size, note.to)
    } else if (note.note === 'cut') {
      const state = stateOf(note.path)
      state.safe = Math.min(state.safe, note.to)
      state.size = note.to
      if (note.kept !== '') state.cuts.push({ to: note.to, kept: note.kept })
    } else if (note.note === 'syncing') {
      under.set(`${note.path} ${note.sync}`, stateOf(note.path).size)
    } else if (note.note === 'synced') {
      const state = stateOf(note.path)
      state.safe = under.get(`${note.path} ${note.sync}`) ?? state.safe
      state.cuts = []
    } else if (note.note === 'renamed') {
      const state = stateOf(note.path)
      renames.push({ from: note.path, to: note.to, kept: note.kept, wasSafe: state.safe >= state.size })
      files.delete(note.path)
      names.delete(note.path)
      files.set(note.to, state)
    } else if (note.note === 'folder') {
      const inside = (path: string): boolean => path.startsWith(`${note.path}/`) && basename(path) === path.slice(note.path.length + 1)
      for (const name of names) if (inside(name)) names.delete(name)
      renames = renames.filter(({ to }) => !inside(to))
    }
  }
  return { files, names, renames }
}

const noise = (next: () => number, length: number): Buffer => Buffer.from(Array.from({ length }, () => Math.floor(next() * 256)))

/** Bytes that were written and not synced, as a disk may show them later. Each says what it did. */
const TAILS: Record<string, (tail: Buffer, next: () => number) => Buffer> = {
  whole: tail => tail,
  dropped: () => Buffer.alloc(0),
  'cut in the middle': (tail, next) => tail.subarray(0, between(next, 0, tail.length)),
  'zeros from some byte on': (tail, next) => {
    const from = between(next, 0, tail.length)
    return Buffer.concat([tail.subarray(0, from), Buffer.alloc(tail.length - from)])
  },
  'garbled in the middle': (tail, next) => {
    const from = between(next, 0, tail.length - 1)
    const length = between(next, 1, Math.min(tail.length - from, 4_096))
    return Buffer.concat([tail.subarray(0, from), noise(next, length), tail.subarray(from + length)])
  },
  // Pages reach a disk in any order.
  'the end without the beginning': (tail, next) => {
    const from = between(next, 1, tail.length)
    return Buffer.concat([Buffer.alloc(from), tail.subarray(from)])
  },
  'longer than it was': (tail, next) => Buffer.concat([tail, Buffer.alloc(between(next, 1, 4_096))])
}

const pick = <T>(next: () => number, from: readonly T[]): T => from[Math.floor(next() * from.length)]!

function spoilTail (path: string, { safe, cuts }: FileState, next: () => number): string {
  if (!existsSync(path)) return 'nothing'
  const tail = readFileSync(path).subarray(safe)
  const back = cuts.at(-1)
  if (back !== undefined && next() < 0.5) {
    truncateSync(path, Math.min(back.to, statSync(path).size))
    writeFileSync(path, readFileSync(back.kept), { flag: 'a' })
    return 'what was cut off is back'
  }
  if (tail.length === 0) return 'nothing'
  const [what, spoil] = pick(next, Object.entries(TAILS))
  const left = spoil(Buffer.from(tail), next)
  truncateSync(path, safe)
  writeFileSync(path, left, { flag: 'a' })
  return what
}

/** The index is written behind the commits and synced at its checkpoints only: its last rows, or all, may be missing. */
function spoilIndex (dir: string, next: () => number): string {
  const [db, wal] = [join(dir, 'index.db'), join(dir, 'index.db-wal')]
  const what = pick(next, ['whole', 'without its last rows', 'last rows garbled', 'gone'])
  if (what === 'gone') for (const path of [db, wal]) rmSync(path, { force: true })
  if (!existsSync(wal)) return what === 'gone' ? what : 'whole'
  const { size } = statSync(wal)
  if (what === 'without its last rows') truncateSync(wal, between(next, 0, size))
  if (what === 'last rows garbled') {
    const from = between(next, 0, size)
    const bytes = readFileSync(wal)
    writeFileSync(wal, Buffer.concat([bytes.subarray(0, from), noise(next, Math.min(size - from, 8_192))]))
  }
  return what
}

function spoilDaemonFile (dir: string, next: () => number): void {
  const path = join(dir, 'daemon.json')
  const what = next()
  if (what < 0.25) rmSync(path, { force: true })
  else if (what < 0.5 && existsSync(path)) truncateSync(path, 0)
  else if (what < 0.75) writeFileSync(path, noise(next, 120))
}

/**
 * Leaves the folder as a power cut might, once every process of it has gone. Returns, in words, what became of each file,
 * for the count.
 */
export function cutPower (dir: string, { files, names, renames }: Unsynced, next: () => number): string[] {
  const log = join(dir, 'audit.jsonl')
  // Everything in a folder whose own name was never synced goes with it.
  if (names.has(dir) && next() < 0.5) {
    rmSync(dir, { recursive: true, force: true })
    return ['the folder: gone']
  }
  if (!existsSync(dir)) return []
  const done: string[] = []
  for (const { to, kept, wasSafe } of renames) {
    if (!existsSync(to)) continue
    if (next() < 0.5) {
      if (kept === undefined) rmSync(to, { force: true })
      else renameSync(kept, to)
      done.push(`${basename(to)}: the one before`)
    } else if (!wasSafe) {
      writeFileSync(to, '')
      done.push(`${basename(to)}: empty`)
    }
  }
  if (names.has(log) && next() < 0.5) {
    rmSync(log, { force: true })
    done.push('audit.jsonl: gone')
  } else {
    const state = files.get(log)
    if (state !== undefined) done.push(`audit.jsonl: ${spoilTail(log, state, next)}`)
  }
  const temporary = join(dir, 'tickets.json.tmp')
  const unfinished = files.get(temporary)
  if (unfinished !== undefined) done.push(`tickets.json.tmp: ${spoilTail(temporary, unfinished, next)}`)
  done.push(`index.db: ${spoilIndex(dir, next)}`)
  spoilDaemonFile(dir, next)
  return done
}
