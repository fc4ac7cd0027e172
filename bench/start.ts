// Cold start of what is installed: from the start of the process to the first tools/list, and to the first /healthz.
import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { initialize, makeHome, startBuilt } from './built'
import { median, type Print, ratio, short, table } from './harness'
import { removeFolder } from './processes'

const RUNS = 11

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

async function repeat (run: () => Promise<number>): Promise<number> {
  const samples: number[] = []
  for (let n = 0; n < RUNS; n++) samples.push(await run())
  return median(samples)
}

export async function startBench (print: Print): Promise<void> {
  print(`## Cold start of the built file, in milliseconds (median of ${RUNS})`)
  const bare = await repeat(() => timed(bareNode))
  const rows = [['`node -e 0`', short(bare), '1x']]
  for (const [what, run] of [['first tools/list over stdio', toFirstTool], ['first /healthz', toHealth]] as const) {
    const took = await repeat(run)
    rows.push([what, short(took), ratio(took / bare)])
  }
  table(print, ['', 'ms', 'against `node -e 0`'], rows)
}
