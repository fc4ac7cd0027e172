// Cold start of what is installed: from the start of the process to the first tools/list, and to the first /healthz.
import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { initialize, makeHome, startBuilt } from './built'
import { aim, median, type Plan, type Print, ratio, short, table } from './harness'
import { removeFolder } from './processes'

const bareNode = (): Promise<void> => new Promise(resolve => {
  spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }).once('exit', () => { resolve() })
})

const isUp = (port: number): Promise<boolean> => new Promise(resolve => {
  get({ host: '127.0.0.1', port, path: '/healthz' }, res => { res.resume(); resolve(res.statusCode === 200) })
    .on('error', () => { setTimeout(resolve, 2, false) })
})

async function toFirstTool (): Promise<number> {
  const home = await makeHome()
  const start = performance.now()
  const client = startBuilt(home)
  await initialize(client)
  await client.request({ id: 1, method: 'tools/list' })
  const took = performance.now() - start
  await client.close()
  await removeFolder(home.dir)
  return took
}

async function toHealth (): Promise<number> {
  const home = await makeHome()
  const start = performance.now()
  const client = startBuilt(home)
  while (!await isUp(home.port));
  const took = performance.now() - start
  await client.close()
  await removeFolder(home.dir)
  return took
}

async function timed (run: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

export async function startBench (print: Print, { quick }: Plan): Promise<void> {
  const runs = quick ? 5 : 15
  print(`## Cold start of the built file, in milliseconds (median of ${runs})`)
  const ways = { bare: () => timed(bareNode), tool: toFirstTool, health: toHealth }
  // The first of each is not counted: it is the one that leaves behind what was compiled.
  for (const way of Object.values(ways)) await way()
  const samples: Record<keyof typeof ways, number[]> = { bare: [], tool: [], health: [] }
  for (let n = 0; n < runs; n++) for (const name of ['bare', 'tool', 'health'] as const) samples[name].push(await ways[name]())
  const [bare, tool, health] = [median(samples.bare), median(samples.tool), median(samples.health)]
  table(print, ['', 'ms', 'against `node -e 0`'], [
    ['`node -e 0`', short(bare), '1x'],
    ['first tools/list over stdio', short(tool), ratio(tool / bare)],
    ['first /healthz', short(health), ratio(health / bare)]
  ])
  print(aim(tool <= bare * 4, `the first tools/list within 4x of \`node -e 0\` (${ratio(tool / bare)})`))
  print('')
}
