import t from 'tap'
import { Desk } from '../../lib/desk'
import { MemoryTicketStore } from '../../lib/memory-store'
import { auditPage } from '../../lib/pages'

const seqs = ({ entries }: Awaited<ReturnType<typeof auditPage>>): number[] => entries.map(({ seq }) => seq)

t.test('a page of the audit log ends at its limit, or earlier where tickets are long', async t => {
  const desk = await new Desk(new MemoryTicketStore()).open()
  for (let n = 0; n < 70; n++) await desk.ask({ stream: 'agent', question: `Number ${n}?`, context: '\u{1F600}'.repeat(n < 45 ? 65_536 : 1) })
  t.strictSame(seqs(await auditPage(desk, 60)), [61, 62, 63, 64, 65, 66, 67, 68, 69, 70])
  t.strictSame(seqs(await auditPage(desk, 45, 3)), [46, 47, 48])
  t.strictSame(seqs(await auditPage(desk, 70)), [])
  const long = seqs(await auditPage(desk))
  t.equal(long.length, 40, 'eight mebibytes of text are enough for one page')
  t.strictSame(seqs(await auditPage(desk, long.at(-1))).length, 30, 'and the next goes on behind it')
})
