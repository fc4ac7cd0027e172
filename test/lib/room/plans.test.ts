import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Call } from '../../../lib/room/call'
import { enter } from '../../../lib/room/call'
import { tell } from '../../../lib/room/commands/tickets'
import { addNote, claimTask, createTask } from '../../../lib/room/commands/board'
import { getTask, lapseDue, listTasks } from '../../../lib/room/commands/tasks-read'
import { migrate } from '../../../lib/room/migrations'
import { drive } from '../../../lib/room/steps'
import { PAGE_BYTES } from '../../../schemas/room'

const NOW = Date.parse('2026-05-01T10:00:00.000Z')

t.test('what every call does, and what every ticket does, reads no task that has nothing to do with it', async t => {
  const db = new DatabaseSync(':memory:')
  t.teardown(() => db.close())
  const all = (text: string, values: readonly unknown[]) => db.prepare(text).all(...values as string[])
  migrate({ all })
  db.exec("INSERT INTO rooms (name, created_at) VALUES ('ops', '2026-01-01')")
  const call: Call = { actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now: NOW, events: [] }
  const entry = { ticket: { id: 'x' }, event: 'answered' } as Parameters<typeof tell>[1]
  for (const [name, steps] of [['enter', enter(call)], ['lapseDue', lapseDue(call)], ['tell', tell(call, entry, 'answered')]] as const) {
    let step = steps.next()
    let looked = 0
    while (!step.done) {
      const { sql, parameters } = step.value
      if (/^select .* from "tasks"/.test(sql)) {
        looked++
        const plan = all(`EXPLAIN QUERY PLAN ${sql}`, parameters).map(row => (row as { detail: string }).detail).join('; ')
        t.match(plan, /USING (?:COVERING )?INDEX tasks_/, `${name}: ${plan}`)
        t.notMatch(plan, /SCAN|PRIMARY KEY/)
      }
      step = steps.next(all(sql, parameters))
    }
    t.ok(looked > 0, name)
  }
})

t.test('a claim and a look at one task read that task and its notes, and a list of what is open nothing that is done', async t => {
  const db = new DatabaseSync(':memory:')
  t.teardown(() => db.close())
  const read = new Map<string, number>()
  const all = (text: string, values: readonly unknown[]) => {
    const rows = db.prepare(text).all(...values as string[])
    const plan = /^select/.test(text) ? db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values as string[]).map(({ detail }) => String(detail)) : []
    for (const detail of plan) if (/^(?:SCAN|SEARCH) (?:tasks|notes|dependencies)\b/.test(detail)) read.set(detail, rows.length)
    return rows
  }
  migrate({ all })
  db.exec("INSERT INTO rooms (name, created_at) VALUES ('ops', '2026-01-01')")
  const call = (): Call => ({ actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now: NOW, events: [] })
  drive({ all }, createTask(call(), { title: 'First' }))
  drive({ all }, createTask(call(), { title: 'Second', depends_on: [1] }))
  drive({ all }, addNote(call(), { task_id: 1, body: 'Begun' }))
  drive({ all }, claimTask(call(), { task_id: 1 }))
  read.clear()

  drive({ all }, claimTask(call(), { task_id: 1 }))
  drive({ all }, getTask(call(), { task_id: 2 }))
  for (const status of ['open', 'ready', 'done'] as const) drive({ all }, listTasks(call(), { status }))
  t.ok(read.size > 4)
  for (const detail of read.keys()) {
    t.notMatch(detail, /^SCAN/)
    t.notMatch(detail, /\(room=\?\)/, 'not by the room alone')
  }
})

t.test('a task shows its newest notes in order, as many as a page holds, however many there are', async t => {
  const db = new DatabaseSync(':memory:')
  t.teardown(() => db.close())
  const all = (text: string, values: readonly unknown[]) => db.prepare(text).all(...values as string[])
  migrate({ all })
  db.exec("INSERT INTO rooms (name, created_at) VALUES ('ops', '2026-01-01')")
  const call = (): Call => ({ actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now: NOW, events: [] })
  drive({ all }, createTask(call(), { title: 'Long' }))
  for (let n = 1; n <= 130; n++) drive({ all }, addNote(call(), { task_id: 1, body: `Note ${n} ${'x'.repeat(500)}` }))
  const { notes, notes_omitted: omitted } = drive({ all }, getTask(call(), { task_id: 1 }))
  t.ok(notes.length > 50 && notes.length < 130, `${notes.length} are shown`)
  t.equal(omitted, 130 - notes.length)
  t.strictSame(notes.map(({ id }) => id), Array.from(notes, (_, n) => 131 - notes.length + n))
  t.ok(JSON.stringify(notes).length <= PAGE_BYTES)
})
