import t from 'tap'
import type { Proof } from '../../prove/harness'
import { fuzz } from '../../prove/hostile/fuzz'
import { siege } from '../../prove/hostile/siege'

const options = { form: 'short', seed: 20_261_130, say: (line: string) => t.comment(line) } as const

const figure = ({ figures }: Proof, name: RegExp): number[] =>
  figures.filter(([what]) => name.test(what)).flatMap(([, value]) => value.match(/[\d.]+/g) ?? []).map(Number)

t.test('whatever is sent to any address or tool: no failure, no wrong shape, no wrong state', async t => {
  const proof = await fuzz(options)
  for (const [name, value] of proof.figures) t.comment(`${name}: ${value}`)
  t.strictSame(proof.broken, [])
  const [sent = 0, entries = 0, tickets = 0] = figure(proof, /^inputs without/)
  t.ok(sent >= 1_200 && entries > 50 && tickets > 30, `${sent} sent, ${entries} entries, ${tickets} tickets`)
  t.ok(figure(proof, /^inputs with a/)[0]! >= 400)
})

t.test('slow, silent, endless, too long and too many: others work on, in bounded memory', async t => {
  const proof = await siege(options)
  for (const [name, value] of proof.figures) t.comment(`${name}: ${value}`)
  t.strictSame(proof.broken, [])
  t.equal(figure(proof, /undisturbed; memory$/).length >= 10 * 4, true, 'every attack was made')
  t.ok(figure(proof, /^requests that hide/)[0]! >= 19)
})
