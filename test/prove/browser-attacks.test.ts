import t from 'tap'
import { browserAttacks } from '../../prove/hostile/browser'

t.test('a page of another origin, of none, or under a name pointed here changes nothing and reads nothing', async t => {
  const { figures, broken } = await browserAttacks({ form: 'short', seed: 1, say: line => t.comment(line) })
  t.strictSame(broken, [])
  t.equal(figures.length, 7)
  for (const [name, value] of figures) t.ok(Number.parseInt(value) > 1, `${name}: ${value}`)
})
