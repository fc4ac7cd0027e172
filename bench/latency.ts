// How long one `ask_human` takes, over HTTP and over stdio through a client process, against a bare handler on the same
// SDK that checks nothing and stores nothing.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { initialize, makeHome, startBuilt, startStdio, type StdioProcess } from './built'
import { bound, createCaller, latencies, percentile, type Print, ratio, short, table, toolCall } from './harness'
import { removeFolder } from './processes'

const COUNT = 400
const WARM_UP = 80
const BARE = ['--import=./ts-hooks.mjs', 'bench/mcp-bare.ts']
const root = new URL('../', import.meta.url).pathname
const question = { question: 'Ship it?', options: ['yes', 'no'] }

async function overHttp (port: number): Promise<number[]> {
  const caller = createCaller(port, 1)
  const ask = (n: number): Promise<unknown> => caller.post('/mcp/bench', toolCall(n, 'ask_human', question))
  await latencies(WARM_UP, ask)
  const samples = await latencies(COUNT, ask)
  caller.close()
  return samples
}

async function overStdio (client: StdioProcess): Promise<number[]> {
  await initialize(client)
  let id = 1
  const ask = (): Promise<unknown> => client.request({ id: id++, method: 'tools/call', params: { name: 'ask_human', arguments: question } })
  await latencies(WARM_UP, ask)
  return latencies(COUNT, ask)
}

async function bareHttp (): Promise<number[]> {
  const child = spawn(process.execPath, [...BARE, 'http'], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const samples = await overHttp((JSON.parse(value ?? '{}') as { port: number }).port)
  child.stdin.end()
  return samples
}

async function bareStdio (): Promise<number[]> {
  const client = startStdio([...BARE, 'stdio'], process.env, root)
  const samples = await overStdio(client)
  await client.close()
  return samples
}

/** A daemon, with one call over HTTP first; then a second process, which is its client. Streams hold 500 tickets each. */
async function product (): Promise<{ http: number[], stdio: number[] }> {
  const home = await makeHome()
  const daemon = startBuilt(home, ['serve'])
  const caller = createCaller(home.port, 1)
  while (await caller.post('/mcp/first', toolCall(1, 'list_pending', {})).then(({ status }) => status, () => 0) !== 200) {
    await new Promise(resolve => { setTimeout(resolve, 20) })
  }
  caller.close()
  const http = await overHttp(home.port)
  const client = startBuilt({ ...home, env: { ...home.env, READYROOM_STREAM: 'through-a-client' } })
  const stdio = await overStdio(client)
  await client.close()
  daemon.child.kill('SIGTERM')
  await daemon.close()
  await removeFolder(home.dir)
  return { http, stdio }
}

export async function latencyBench (print: Print): Promise<void> {
  print('## One ask_human, in milliseconds')
  const bare = { http: await bareHttp(), stdio: await bareStdio() }
  const ours = await product()
  const rows = (['http', 'stdio'] as const).flatMap(how => [
    [`bare handler over ${how}`, short(percentile(bare[how], 0.5)), short(percentile(bare[how], 0.99)), '1x'],
    [how === 'http' ? 'Ready Room over http' : 'Ready Room over stdio, through a client process',
      short(percentile(ours[how], 0.5)), short(percentile(ours[how], 0.99)), ratio(percentile(ours[how], 0.5) / percentile(bare[how], 0.5))]
  ])
  table(print, ['', 'p50', 'p99', 'p50 against the bare one'], rows)
  const worst = Math.max(percentile(ours.http, 0.99), percentile(ours.stdio, 0.99))
  print(bound(worst < 200, `ask_human under 200 ms at the 99th percentile (${short(worst)} ms)`))
  print('')
}
