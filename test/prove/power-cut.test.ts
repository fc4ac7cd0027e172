import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Note } from '../../prove/fault-rules'
import { random } from '../../prove/harness'
import { cutPower, readNotes } from '../../prove/power-cut'
import { testFolder } from '../helpers/folder'

const SYNCED = 'a line that is safe\n'
const WRITTEN = 'a line that is not\n'

/** A state folder with a log, as these notes tell of it, and what a hundred power cuts make of the log; undefined where it is gone. */
function outcomes (t: Test, notesOf: (dir: string, log: string) => Note[], sizeBefore = 0): Set<string | undefined> {
  const next = random(1)
  const folder = testFolder(t)
  return new Set(Array.from({ length: 100 }, (_, i) => {
    const dir = join(folder, String(i))
    const log = join(dir, 'audit.jsonl')
    mkdirSync(dir)
    writeFileSync(log, SYNCED + WRITTEN)
    const text = notesOf(dir, log).map(note => `${JSON.stringify(note)}\n`).join('')
    cutPower(dir, readNotes(`${text}{"note":"wri`, () => sizeBefore), next)
    return existsSync(log) ? readFileSync(log, 'latin1') : undefined
  }))
}

const end = SYNCED.length + WRITTEN.length

t.test('a power cut takes nothing that was synced, and of what was not it leaves all, some, none or something else', t => {
  const left = outcomes(t, (_, path) => [{ note: 'write', path, from: SYNCED.length, to: end }], SYNCED.length)
  t.ok([...left].every(text => text?.startsWith(SYNCED)))
  t.ok(left.has(SYNCED) && left.has(SYNCED + WRITTEN) && left.size > 10, `${left.size} outcomes`)

  const synced = outcomes(t, (_, path) => [
    { note: 'write', path, from: SYNCED.length, to: end }, { note: 'syncing', path, sync: 1 }, { note: 'synced', path, sync: 1 }
  ], SYNCED.length)
  t.strictSame([...synced], [SYNCED + WRITTEN])
  t.end()
})

t.test('a sync makes durable what was written before it began, and one that was never over nothing at all', t => {
  const during = outcomes(t, (_, path) => [
    { note: 'syncing', path, sync: 1 }, { note: 'write', path, from: SYNCED.length, to: end }, { note: 'synced', path, sync: 1 }
  ], SYNCED.length)
  t.ok(during.has(SYNCED))
  const under = outcomes(t, (_, path) => [{ note: 'write', path, from: SYNCED.length, to: end }, { note: 'syncing', path, sync: 1 }], SYNCED.length)
  t.ok(under.has(SYNCED))
  t.end()
})

t.test('a file is gone with its name, and that with the folder above, until each was synced', t => {
  const made = (dir: string, path: string): Note[] => [
    { note: 'made', path: dir }, { note: 'made', path }, { note: 'write', path, from: 0, to: end }, { note: 'syncing', path, sync: 1 }, { note: 'synced', path, sync: 1 }
  ]
  const above = (dir: string): Note => ({ note: 'folder', path: join(dir, '..') })
  t.ok(outcomes(t, made).has(undefined))
  t.ok(outcomes(t, (dir, log) => [...made(dir, log), { note: 'folder', path: dir }]).has(undefined), 'the folder itself is not safe yet')
  t.ok(outcomes(t, (dir, log) => [...made(dir, log), above(dir)]).has(undefined))
  t.strictSame([...outcomes(t, (dir, log) => [...made(dir, log), { note: 'folder', path: dir }, above(dir)])], [SYNCED + WRITTEN])
  t.end()
})
