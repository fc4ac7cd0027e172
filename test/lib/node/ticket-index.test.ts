import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { AuditLog } from '../../../lib/node/audit-log'
import { realDisk } from '../../../lib/node/disk'
import { START } from '../../../lib/node/index-db'
import { silentLog } from '../../../lib/node/log'
import { TicketIndex } from '../../../lib/node/ticket-index'
import { testFolder } from '../../helpers/folder'

async function open (t: Test) {
  const dir = testFolder(t)
  const auditLog = await AuditLog.open(realDisk, dir, START)
  const { index } = await TicketIndex.open({ dir, log: silentLog }, auditLog, 0)
  t.teardown(() => auditLog.close())
  return index
}

const place = (seq: number, id = `ticket ${seq}`, settled = false) => ({ seq, id, settled, hash: String(seq).padStart(64, '0'), start: seq * 10 - 10, end: seq * 10 })

t.test('rows are written behind the commits, and the answers are the same before, meanwhile and after', async t => {
  const index = await open(t)
  for (let seq = 1; seq <= 2_500; seq++) index.add(place(seq, `ticket ${seq % 500}`, seq % 2 === 0))
  t.equal(index.waiting, 2_500, 'nothing is written in the way of whoever adds')
  const answers = () => ({
    entry: [1, 999, 1_000, 1_001, 2_500, 2_501].map(seq => index.entry(seq)?.end),
    ticket: ['ticket 0', 'ticket 1', 'ticket 499', 'ticket 500'].map(id => index.ticket(id)?.seq),
    newest: index.settled(Infinity, 3).map(({ seq, id }) => [seq, id]),
    older: index.settled(2_100, 1_000).map(({ seq }) => seq)
  })
  const first = answers()
  t.strictSame(first.ticket, [2_500, 2_001, 2_499, undefined])
  t.strictSame(first.newest, [[2_500, 'ticket 0'], [2_498, 'ticket 498'], [2_496, 'ticket 496']])
  t.equal(first.older.length, 49)
  const deadline = Date.now() + 10_000
  const seen = new Set<number>()
  while (index.waiting > 0 && Date.now() < deadline) {
    await turn()
    if (seen.has(index.waiting)) continue
    seen.add(index.waiting)
    t.strictSame(answers(), first)
  }
  t.equal(index.waiting, 0)
  t.ok(seen.size >= 3, 'a slice at a time')
  index.add(place(2_501))
  await index.close()
  t.equal(index.waiting, 0, 'close leaves nothing')
})
