import t from 'tap'
import { disk } from '../../prove/disk'

const SEED = 20_261_130

// Half a minute where nothing else runs; what is slow is the machine, not the matter.
t.setTimeout(400_000)

t.test('a disk that fails under load is named to whoever is refused, loses nothing acknowledged, and is over when it is over', { timeout: 400_000 }, async t => {
  const { figures, broken } = await disk({ form: 'short', seed: SEED, say: line => t.comment(line) })
  for (const [what, figure] of figures) t.comment(`${what}: ${figure}`)
  t.strictSame(broken, [])
  const figure = (name: RegExp): number => Number(figures.find(([what]) => name.test(what))?.[1].replaceAll(',', ''))
  for (const ailment of ['full', 'read-only', 'EIO on write', 'EIO on sync']) t.ok(figure(new RegExp(`^refused by a disk: ${ailment}$`)) >= 20, ailment)
  t.ok(figure(/^told that it may be there/) > 0)
  t.ok(figure(/^daemons killed/) >= 7)
  t.ok(figure(/^reads while/) >= 70)
  t.ok(figure(/^commands acknowledged/) > 300)
})
