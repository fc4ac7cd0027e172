// Durable `ask_human` a second over HTTP MCP, by how many call at once and on which disk.
import type { DiskName } from './disks'
import { aim, bound, createCaller, latencies, median, type Plan, type Print, ratio, short, table, throughput, toolCall } from './harness'
import { type BenchServer, startBare, startServer } from './processes'

const CALLERS = [1, 16, 64]
/** How many tickets each run enqueues: the queue holds 10,000, warm-up included. */
const COUNT: Record<number, number> = { 1: 1_000, 16: 4_000, 64: 8_000 }
const WARM_UP = 500
const question = { question: 'Ship it?', options: ['yes', 'no'] }

/** A disk on which each sync takes ten milliseconds more is given less to do where it is alone. */
const slowed = (disk: DiskName | undefined, callers: number): number => disk === 'slow' && callers === 1 ? 200 : COUNT[callers]!

/** `disk` is left out for the SDK's own handler, which stores nothing. */
async function rates (disk: DiskName | undefined, { quick }: Plan): Promise<number[]> {
  const found: number[] = []
  for (const callers of CALLERS) {
    const server: Pick<BenchServer, 'port' | 'close'> = disk === undefined ? await startBare() : await startServer(disk)
    const caller = createCaller(server.port, callers)
    let asked = 0
    const ask = async (): Promise<void> => {
      // A stream holds 500 tickets.
      const stream = Math.floor(asked / 500)
      const { status, body } = await caller.post(`/mcp/bench-${stream}`, toolCall(asked++, 'ask_human', question))
      if (status !== 200 || !body.includes('pending')) throw new Error(`ask_human failed: ${status} ${body.slice(0, 200)}`)
    }
    await throughput(callers, WARM_UP, ask)
    found.push(await throughput(callers, slowed(disk, callers) / (quick ? 4 : 1), ask))
    caller.close()
    await server.close()
  }
  return found
}

/** How long one `ask_human` takes where each has a sync to itself, in milliseconds, HTTP included. */
async function oneSync (disk: DiskName): Promise<number> {
  const server = await startServer(disk)
  const caller = createCaller(server.port, 1)
  const samples = await latencies(60, n => caller.post('/mcp/bench', toolCall(n, 'ask_human', question)))
  caller.close()
  await server.close()
  return median(samples)
}

export async function askBench (print: Print, plan: Plan): Promise<void> {
  print('## Durable ask_human a second over HTTP MCP')
  const bare = await rates(undefined, plan)
  const real = await rates('real', plan)
  const unsynced = await rates('unsynced', plan)
  const slow = await rates('slow', plan)
  const perSync = 1_000 / await oneSync('slow')
  table(print, [
    'callers at once', 'this disk', 'a bare handler that stores nothing', 'against it', 'sync switched off', 'off / this disk', 'sync 10 ms slower', 'against one sync a ticket'
  ], CALLERS.map((callers, i) => [
    String(callers), short(real[i]!), short(bare[i]!), ratio(real[i]! / bare[i]!), short(unsynced[i]!), ratio(unsynced[i]! / real[i]!),
    short(slow[i]!), ratio(slow[i]! / perSync)
  ]))
  const off = unsynced[2]! / real[2]!
  print(bound(slow[2]! / perSync >= 8, `64 callers on a slow card at least 8x one sync a ticket (${ratio(slow[2]! / perSync)})`))
  print(aim(off <= 1.3, `64 callers within 1.3x of the same server without sync (${ratio(off)})`))
  print(aim(real[2]! > bare[2]!, `64 callers, durable, faster than the SDK's bare handler (${ratio(real[2]! / bare[2]!)})`))
  print('')
}
