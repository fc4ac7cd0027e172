// Loaded into the product before it starts (NODE_OPTIONS=--import=...). It stands between it and the file system: it
// notes what was written and what was synced, and fails, slows down or kills where the rules say so.
//   PROVE_NOTES   the file that notes go to
//   PROVE_RULES   the file that holds the rules, as JSON; it may change at any time
import fs from 'node:fs'
import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import type { Note, Operation, Rule } from './fault-rules'

const notes = fs.openSync(process.env['PROVE_NOTES']!, 'a', 0o600)
const rulesFile = process.env['PROVE_RULES']!
const noteDir = path.dirname(process.env['PROVE_NOTES']!)
/** Files and folders from here down are of interest, and the folder that holds it. */
const state = path.resolve(process.env['READYROOM_STATE_DIR']!)

// One system call: what was noted is in the kernel's hands, whatever becomes of this process.
const note = (what: Note): void => { fs.writeSync(notes, `${JSON.stringify(what)}\n`) }

let rules: Rule[] = []
let met: number[] = []
let version = ''
function currentRules (): Rule[] {
  const { mtimeNs, ino } = fs.statSync(rulesFile, { bigint: true })
  const now = `${mtimeNs} ${ino}`
  if (now !== version) {
    version = now
    rules = JSON.parse(fs.readFileSync(rulesFile, 'utf8')) as Rule[]
    met = rules.map(() => 0)
  }
  return rules
}

function die (): never {
  process.kill(process.pid, 'SIGKILL')
  // The signal is on its way; nothing may happen until it is here.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
}

const fault = (code: string): Error => Object.assign(new Error(`${code}: made by the fault layer`), { code, errno: -1 })

/** Runs an operation as the rules want it. `half` does what is left of a write that breaks off. */
async function pass<T> (op: Operation, name: string, run: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> {
  let dieAfter = false
  for (const [i, rule] of currentRules().entries()) {
    if (rule.op !== op || rule.name !== name) continue
    const count = met[i]!++
    const first = rule.after ?? 0
    if (count < first || count >= first + (rule.times ?? Infinity)) continue
    note({ note: 'fault', rule: i })
    if (rule.slowMs !== undefined) await new Promise(resolve => { setTimeout(resolve, rule.slowMs) })
    if (rule.die === 'before') die()
    if (rule.die === 'half' || rule.fail !== undefined) await half?.()
    if (rule.die === 'half') die()
    if (rule.fail !== undefined) throw fault(rule.fail)
    if (rule.die === 'after') dieAfter = true
  }
  const result = await run()
  if (dieAfter) die()
  return result
}

const { open, rename, rm } = promises
const isOurs = (file: string): boolean => file === path.dirname(state) || file === state || file.startsWith(state + path.sep)

let keeps = 0
const keepName = (): string => path.join(noteDir, `kept-${process.pid}-${keeps++}`)

async function openNoted (...args: Parameters<typeof open>): Promise<FileHandle> {
  const file = path.resolve(String(args[0]))
  if (!isOurs(file)) return open(...args)
  const handle = await pass('open', path.basename(file), () => open(...args))
  if (String(args[1]).includes('x')) note({ note: 'made', path: file })
  return (await handle.stat()).isDirectory() ? noteFolder(handle, file) : noteFile(handle, file)
}

function noteFolder (handle: FileHandle, dir: string): FileHandle {
  const sync = handle.sync.bind(handle)
  handle.sync = () => pass('syncFolder', path.basename(dir), async () => {
    await sync()
    note({ note: 'folder', path: dir })
  })
  handle.datasync = handle.sync
  return handle
}

let syncs = 0

function noteFile (handle: FileHandle, file: string): FileHandle {
  const name = path.basename(file)
  const [write, truncate] = [handle.write.bind(handle), handle.truncate.bind(handle)]
  const [sync, datasync] = [handle.sync.bind(handle), handle.datasync.bind(handle)]
  const writeNoted = (data: Buffer, offset: number, length: number, position: number) => {
    note({ note: 'write', path: file, from: position, to: position + length })
    return pass('write', name, () => write(data, offset, length, position), () => write(data, offset, length >> 1, position))
  }
  const truncateNoted = (to = 0): Promise<void> => pass('truncate', name, async () => {
    const { size } = await handle.stat()
    const kept = keepName()
    if (size > to) {
      const cut = Buffer.alloc(size - to)
      await handle.read(cut, 0, cut.length, to)
      fs.writeFileSync(kept, cut)
    }
    note({ note: 'cut', path: file, to, kept: size > to ? kept : '' })
    await truncate(to)
  })
  const syncNoted = (run: () => Promise<void>) => (): Promise<void> => pass('sync', name, async () => {
    const number = ++syncs
    note({ note: 'syncing', path: file, sync: number })
    await run()
    note({ note: 'synced', path: file, sync: number })
  })
  return Object.assign(handle, { write: writeNoted, truncate: truncateNoted, sync: syncNoted(sync), datasync: syncNoted(datasync) })
}

async function renameNoted (from: string, to: string): Promise<void> {
  if (!isOurs(path.resolve(from))) return rename(from, to)
  await pass('rename', path.basename(from), async () => {
    let kept: string | undefined = keepName()
    try {
      // A second name for what is replaced: it costs nothing, and keeps it.
      fs.linkSync(to, kept)
    } catch { kept = undefined }
    note({ note: 'renamed', path: path.resolve(from), to: path.resolve(to), kept })
    await rename(from, to)
  })
}

const removeNoted: typeof rm = async (file, options) =>
  isOurs(path.resolve(String(file))) ? pass('remove', path.basename(String(file)), () => rm(file, options)) : rm(file, options)

const { mkdirSync } = fs
const mkdirNoted = ((dir: string, ...rest: [number]) => {
  const made = mkdirSync(dir, ...rest)
  if (isOurs(path.resolve(dir))) note({ note: 'made', path: path.resolve(dir) })
  return made
}) as typeof mkdirSync

Object.assign(promises, { open: openNoted, rename: renameNoted, rm: removeNoted })
Object.assign(fs, { mkdirSync: mkdirNoted })
syncBuiltinESMExports()
