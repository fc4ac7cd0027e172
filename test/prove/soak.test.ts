import t from 'tap'
import type { Asked } from '../../prove/soak/crowd'
import { soak } from '../../prove/soak'
import { judgeAsks, judgeMemory, leaks } from '../../prove/soak/judge'
import type { Sample } from '../../prove/soak/daemon'

const MIB = 1_024 * 1_024

const sample = (more: Partial<Sample> = {}): Sample =>
  ({ number: 1, heapUsed: 40 * MIB, external: 0, rss: 100 * MIB, resources: { Timeout: 1 }, descriptors: 20, ...more })

t.test('days of a busy queue leave memory as it was, nothing held, and an ask as fast', { timeout: 240_000 }, async t => {
  const { broken, figures } = await soak({ form: 'short', seed: 20_261_130, say: line => { t.comment(line) } })
  for (const [what, figure] of figures) t.comment(`${what}: ${figure}`)
  t.same(broken, [])
  const of = new Map(figures)
  const numbers = (what: string): number[] => [...of.get(what)!.matchAll(/\d+/g)].map(Number)
  const [tickets, answers] = numbers('tickets, answers')
  t.ok(tickets! > 60 && answers! > 30, `${tickets} tickets, ${answers} answers`)
  t.equal(numbers('days that went by, in minutes')[0], 6)
  const [came, processes] = numbers('event readers and agents\' processes that came and went')
  t.ok(came! > 0 && processes! > 0, `${came} readers, ${processes} processes`)
})

t.test('a heap that grows is found, be it in steps; one that goes up and down is not', async t => {
  const bounds = { heap: 4, resident: 24 }
  const of = (heap: (n: number) => number): string[] =>
    judgeMemory(Array.from({ length: 20 }, (_, n) => [n / 20, sample({ heapUsed: heap(n) * MIB })]), bounds).broken
  t.same(of(n => 40 + n % 3), [])
  t.same(of(n => n < 10 ? 10 + 3 * n : 40), [], 'what grows in the first half is what a day takes')
  t.match(of(n => 40 + n), [/The heap grew by 1\d\.\d MiB/])
  t.match(of(n => 40 + 10 * Math.floor(n / 5)), [/The heap grew/])
  t.match(judgeMemory([[1, sample()]], bounds).broken[0], /Only 1 samples/)
})

t.test('what is still held is named; what is held no more is nothing', async t => {
  t.same(leaks(sample(), sample()), [])
  t.same(leaks(sample(), sample({ resources: {}, descriptors: 19 })), [])
  t.same(leaks(sample(), sample({ resources: { Timeout: 3, TCPSocketWrap: 1 } })), ['Timeout: 1 before, 3 after', 'TCPSocketWrap: 0 before, 1 after'])
})

t.test('asks that get slower are found, unless the whole machine does', async t => {
  const asks = (slower: number, floor: number): Asked[] =>
    Array.from({ length: 3_000 }, (_, n) => n < 1_500 ? [n, 20, 5] : [n, 20 * slower, 5 * floor])
  t.same(judgeAsks(asks(1, 1)).broken, [])
  t.match(judgeAsks(asks(10, 1)).broken, [/An ask took p50 20\.0, p99 20\.0 ms in the first third, and p50 200\.0/])
  t.same(judgeAsks(asks(10, 8)).broken, [])
  t.same(judgeAsks(asks(10, 1).filter((_, n) => n % 10 === 0)).broken, [], 'of a few hundred nothing can be said')
})
