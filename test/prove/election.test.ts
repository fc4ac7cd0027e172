import t from 'tap'
import { election } from '../../prove/election'

t.test('whatever befalls the daemon, there is one writer, every call has its reply, and no ticket is there twice', { timeout: 180_000 }, async t => {
  const { broken, figures } = await election({ form: 'short', seed: 20_261_130, say: line => { t.comment(line) } })
  for (const [what, figure] of figures) t.comment(`${what}: ${figure}`)
  t.same(broken, [])
  const of = new Map(figures)
  t.match(of.get('kill -9: to the first acknowledged ask'), /\(2\)$/, 'two daemons were killed, and somebody took over from each')
  const [asks, waits] = /(\d+) asks, (\d+) waits/.exec(of.get('calls that had their reply') ?? '')!.slice(1).map(Number)
  t.ok(asks! > 40 && waits! >= 20, `${asks} asks, ${waits} waits`)
  t.ok(Number(of.get('audit entries, and daemons that wrote them')?.split(', ')[1]) >= 6)
})
