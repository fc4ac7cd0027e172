// Loaded into the daemon before the product. On SIGUSR2 it does what the command file says: moves the wall clock forward,
// collects the garbage, and writes down how much memory and what else is held. Needs no inspector, and holds nothing itself.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface Command { number: number, advanceMs: number }

export interface Report {
  number: number
  /** In bytes, after a collection. */
  heapUsed: number
  external: number
  rss: number
  /** How many of each kind keep the process alive: sockets, servers, timers. */
  resources: Record<string, number>
}

const folder = process.env['PROBE_FOLDER']

if (folder !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  let ahead = 0
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor (...args: [] | [number | string]) {
      if (args.length === 0) super(RealDate.now() + ahead)
      else super(...args)
    }

    static override now (): number { return RealDate.now() + ahead }
  } as DateConstructor

  process.on('SIGUSR2', () => {
    const { number, advanceMs } = JSON.parse(readFileSync(`${folder}/command.json`, 'utf8')) as Command
    ahead += advanceMs
    collect()
    // What a first collection has let go of may let go of more.
    setImmediate(() => {
      collect()
      const resources: Record<string, number> = {}
      for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
      const { heapUsed, external, rss } = process.memoryUsage()
      writeFileSync(`${folder}/report.json.tmp`, JSON.stringify({ number, heapUsed, external, rss, resources } satisfies Report))
      renameSync(`${folder}/report.json.tmp`, `${folder}/report.json`)
    })
  })
}
