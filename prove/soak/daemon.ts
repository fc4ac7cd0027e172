import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, type Running, type World } from '../../test/helpers/process'
import type { Command, Report } from './probe'

export interface Sample extends Report {
  /** Open file descriptors. */
  descriptors: number
}

/** The daemon under test, with a probe inside. */
export class ProbedDaemon {
  readonly running: Running
  readonly #folder: string
  #number = 0

  constructor (world: World) {
    this.#folder = join(world.home, 'probe')
    mkdirSync(this.#folder)
    const probe = new URL('./probe.ts', import.meta.url).href
    this.running = world.start(['serve'], { env: { NODE_OPTIONS: `--import=${probe} --disable-warning=ExperimentalWarning`, PROBE_FOLDER: this.#folder } })
  }

  /** What is held now, after a collection; the wall clock is moved forward first. */
  async sample (advanceMs = 0): Promise<Sample> {
    const command: Command = { number: ++this.#number, advanceMs }
    writeFileSync(join(this.#folder, 'command.json.tmp'), JSON.stringify(command))
    renameSync(join(this.#folder, 'command.json.tmp'), join(this.#folder, 'command.json'))
    this.running.kill('SIGUSR2')
    const report = await eventually(() => this.#report(), 'a report of the probe')
    return { ...report, descriptors: readdirSync(`/proc/${this.running.pid}/fd`).length }
  }

  #report (): Report | undefined {
    try {
      const report = JSON.parse(readFileSync(join(this.#folder, 'report.json'), 'utf8')) as Report
      return report.number === this.#number ? report : undefined
    } catch { return undefined }
  }
}
