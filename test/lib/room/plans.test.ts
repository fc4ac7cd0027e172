import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Call } from '../../../lib/room/call'
import { enter } from '../../../lib/room/call'
import { tell } from '../../../lib/room/commands/tickets'
import { lapseDue } from '../../../lib/room/commands/tasks-read'
import { migrate } from '../../../lib/room/migrations'

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
