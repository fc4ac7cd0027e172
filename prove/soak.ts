import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../test/helpers/process'
import { type Form, type Proof, type ProofOptions, random } from './harness'
import { inWorld } from './in-world'
import { Crowd } from './soak/crowd'
import { ProbedDaemon } from './soak/daemon'
import { Door } from './soak/door'
import { type Bounds, judgeAsks, judgeLog, judgeMemory, leaks, type Timed } from './soak/judge'

interface Size {
  ms: number
  samples: number
  samplesADay: number
  crowd: { agents: number, people: number, readers: number, paceMs: number, visitMs: number }
  bounds: Bounds
}

const STREAMS = 1_000

const SIZES: Record<Form, Size> = {
  short: {
    ms: 12_000,
    samples: 16,
    samplesADay: 3,
    crowd: { agents: 40, people: 50, readers: 8, paceMs: 400, visitMs: 3_000 },
    bounds: { heap: 8, resident: 48 }
  },
  long: {
    ms: 600_000,
    samples: 120,
    samplesADay: 6,
    crowd: { agents: 80, people: 50, readers: 20, paceMs: 800, visitMs: 4_000 },
    bounds: { heap: 4, resident: 24 }
  }
}

/** A little over a day: whatever was pending is due, and what was settled the day before need not be held any more. */
const DAY_MS = 25 * 3_600_000

/** How long a closed connection may take to be let go, in milliseconds. */
const SETTLE_MS = 20_000

/**
 * Many days of a busy queue, one after the other in minutes: the wall clock of the daemon jumps a day ahead now and then.
 * Memory stays what a day needs, nothing is held when everybody has left, and an ask is as fast at the end as at first.
 */
export const soak = ({ form, seed, say }: ProofOptions): Promise<Proof> => inWorld(async world => {
  const { ms, samples: count, samplesADay, bounds, crowd: crowdSize } = SIZES[form]
  const daemon = new ProbedDaemon(world)
  await daemon.running.opened()
  const door = new Door(world.port)
  // Whatever is made on the first call only belongs to what is always held.
  const { id } = await door.call('first', 'ask_human', { question: 'Is it open?' })
  await door.call('first', 'cancel_ticket', { id })
  door.close()
  const before = await daemon.sample()

  const crowdDoor = new Door(world.port)
  const crowd = new Crowd({ world, door: crowdDoor, next: random(seed), streams: STREAMS, ...crowdSize })
  const start = performance.now()
  const samples: Timed[] = []
  let days = 0
  for (let n = 1; n <= count && crowd.broken.length === 0; n++) {
    await delay(Math.max(0, start + ms * n / count - performance.now()))
    const isNewDay = n % samplesADay === 0 && n < count
    if (isNewDay) days++
    samples.push([n / count, await (isNewDay ? crowd.night(() => daemon.sample(DAY_MS)) : daemon.sample())])
    if (n % 10 === 0) say(`${n} of ${count} samples, ${crowd.counts.asks} tickets`)
  }
  await crowd.stop()
  const minutes = (performance.now() - start) / 60_000
  crowdDoor.close()

  const broken = [...crowd.broken]
  let left: string[] = []
  await eventually(async () => {
    left = leaks(before, await daemon.sample())
    return left.length === 0 || undefined
  }, 'everything to be let go', SETTLE_MS).catch(() => { broken.push(...left.map(leak => `Still held when everybody had left: ${leak}`)) })

  daemon.running.kill('SIGTERM')
  const { code, stderr } = await daemon.running.finished
  if (code !== 0) broken.push(`The daemon ended with ${code}`)
  if (/error|warn/i.test(stderr)) broken.push(`The daemon said: ${stderr.slice(-1_000)}`)
  const log = await judgeLog(world, crowd.told)
  const memory = judgeMemory(samples, bounds)
  const asks = judgeAsks(crowd.asks)
  const { counts } = crowd
  return {
    broken: [...broken, ...log.broken, ...memory.broken, ...asks.broken],
    figures: [
      ['streams, people, event readers', `${Math.min(STREAMS, counts.asks)}, ${crowdSize.people}, ${crowdSize.readers}`],
      ['days that went by, in minutes', `${days + 1}, ${minutes.toFixed(1)}`],
      ['tickets, answers', `${counts.asks}, ${counts.answers} (${Math.round(counts.answers / minutes)} a minute)`],
      ['undone, cancelled, run out with their default', `${counts.undone}, ${counts.cancelled}, ${counts.defaults}`],
      ['waits given up, tickets that ran out overnight', `${counts.aborted}, ${counts.overnight}`],
      ['event readers and agents\' processes that came and went', `${counts.readers}, ${counts.visits}`],
      ['audit entries', `${log.entries}`],
      ['heap after a collection: middle and growth in the second half', memory.heap],
      ['resident: middle and growth in the second half', memory.resident],
      ['an ask in the first third', asks.first],
      ['an ask in the last third', asks.last],
      ['a health check beside them', `${asks.floor}`],
      ['held when everybody had left, and not before', left.join('; ') || 'nothing']
    ]
  }
})
