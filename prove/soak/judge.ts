import type { World } from '../../test/helpers/process'
import type { AuditEntry, EventName } from '../../schemas/event'
import { percentile } from '../../bench/harness'
import { slope } from '../distribution'
import type { Asked } from './crowd'
import type { Sample } from './daemon'

const MIB = 1_024 * 1_024

/** How much more may be held at the end of the second half than at its start, by the line closest to the samples, in MiB. */
export interface Bounds { heap: number, resident: number }

/** A sample, and how far the run was: 0..1. */
export type Timed = readonly [at: number, sample: Sample]

/** How memory went in the second half of a run: what grew in the first is what a day of tickets takes. */
export function judgeMemory (samples: readonly Timed[], bounds: Bounds): { broken: string[], heap: string, resident: string } {
  const second = samples.filter(([at]) => at >= 0.5)
  const growth = (of: (sample: Sample) => number): number => slope(second.map(([at, sample]) => [at, of(sample) / MIB])) * 0.5
  const heap = growth(({ heapUsed, external }) => heapUsed + external)
  const resident = growth(({ rss }) => rss)
  const middle = (of: (sample: Sample) => number): string => `${(percentile(second.map(([, sample]) => of(sample)), 0.5) / MIB).toFixed(1)} MiB`
  const broken: string[] = []
  if (second.length < 4) broken.push(`Only ${second.length} samples of the memory were taken in the second half`)
  if (!(heap <= bounds.heap)) broken.push(`The heap grew by ${heap.toFixed(1)} MiB in the second half, over ${bounds.heap}`)
  if (!(resident <= bounds.resident)) broken.push(`What is resident grew by ${resident.toFixed(1)} MiB in the second half, over ${bounds.resident}`)
  const signed = (mib: number): string => `${mib < 0 ? '' : '+'}${mib.toFixed(2)} MiB`
  return {
    broken,
    heap: `${middle(({ heapUsed, external }) => heapUsed + external)}, ${signed(heap)}`,
    resident: `${middle(({ rss }) => rss)}, ${signed(resident)}`
  }
}

/** How much slower an ask may be in the last third: twice, beyond what a health check is, and so many milliseconds. */
const SLOWER = 2
const NOISE_MS = 100
/** From fewer asks in a third nothing can be said of the slowest hundredth. */
const ENOUGH = 300

/** Whether an ask is as fast at the end as at first. The machine may be busier then: a health check beside each ask tells. */
export function judgeAsks (asks: readonly Asked[]): { broken: string[], first: string, last: string, floor: string } {
  const third = Math.floor(asks.length / 3)
  const inOrder = [...asks].sort((a, b) => a[0] - b[0])
  const [first, last] = [inOrder.slice(0, third), inOrder.slice(-third)]
  const at = (of: Asked[], column: 1 | 2, share: number): number => percentile(of.map(asked => asked[column]), share)
  const words = (of: Asked[], column: 1 | 2 = 1): string => `p50 ${at(of, column, 0.5).toFixed(1)}, p99 ${at(of, column, 0.99).toFixed(1)} ms`
  const busier = Math.max(1, at(last, 2, 0.99) / at(first, 2, 0.99))
  const isFlat = third < ENOUGH || at(last, 1, 0.99) <= SLOWER * busier * at(first, 1, 0.99) + NOISE_MS
  return {
    broken: isFlat ? [] : [`An ask took ${words(first)} in the first third, and ${words(last)} in the last; a health check ${words(first, 2)} and ${words(last, 2)}`],
    first: words(first),
    last: words(last),
    floor: `${words(first, 2)}; ${words(last, 2)}`
  }
}

/** What is held now and was not before: of a kind, so many more. */
export function leaks (before: Sample, after: Sample): string[] {
  const kinds = Object.entries({ ...after.resources, 'open file': after.descriptors })
  const had: Record<string, number> = { ...before.resources, 'open file': before.descriptors }
  return kinds.filter(([kind, count]) => count > (had[kind] ?? 0)).map(([kind, count]) => `${kind}: ${had[kind] ?? 0} before, ${count} after`)
}

const EVENT: Record<string, EventName> = { answered: 'answered', expired: 'expired', cancelled: 'cancelled' }

/** Holds the audit log against what each agent was told of its ticket. */
export async function judgeLog (world: World, told: ReadonlyMap<string, string>): Promise<{ broken: string[], entries: number }> {
  const { code, stdout, stderr } = await world.run(['audit', '--verify', '--json'])
  const broken = code === 0 ? [] : [`The chain does not verify: ${stdout}${stderr}`]
  const events = new Map<string, EventName[]>()
  const lines = (await world.run(['audit', '--json'])).stdout.split('\n').slice(0, -1)
  for (const line of lines) {
    const { id, event } = JSON.parse(line) as AuditEntry
    events.set(id, [...events.get(id) ?? [], event])
  }
  for (const [id, status] of told) {
    const found = events.get(id) ?? []
    if (found.filter(event => event === 'enqueued').length !== 1 || !found.includes(EVENT[status]!)) {
      broken.push(`Ticket ${id} was said to be ${status}, and the log has ${found.join(', ') || 'nothing'} of it`)
    }
  }
  return { broken, entries: lines.length }
}
