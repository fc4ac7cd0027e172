import t from 'tap'
import { crash } from '../../prove/crash'

/** Not the seed of the long form: whatever it is, nothing may be lost. */
const SEED = 20_261_130

// Half a minute where nothing else runs; what is slow is the machine, not the matter.
t.setTimeout(400_000)

t.test('a daemon that is killed at any instant loses nothing that it has acknowledged, and leaves nothing half there', { timeout: 400_000 }, async t => {
  const { figures, broken } = await crash({ form: 'short', seed: SEED, say: line => t.comment(line) })
  for (const [what, figure] of figures) t.comment(`${what}: ${figure}`)
  t.strictSame(broken, [])
  const figure = (name: RegExp): number => Number(figures.find(([what]) => name.test(what))?.[1].replaceAll(',', ''))
  t.ok(figure(/^killed while at work/) >= 10)
  t.ok(figure(/^killed while closing/) >= 2)
  t.ok(figure(/^killed while starting/) >= 2)
  t.ok(figure(/^commands acknowledged/) > 200)
  t.ok(figures.some(([what]) => /^a power cut left audit\.jsonl: (?!nothing|whole)/.test(what)), 'and a power cut has taken what was not synced')
})
