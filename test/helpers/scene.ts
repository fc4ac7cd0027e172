import { chmodSync, mkdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import Value from 'typebox/value'
import { DoctorReportSchema, type Check } from '../../schemas/doctor'
import { readConfig } from '../../lib/node/config'
import { examine } from '../../lib/node/doctor/doctor'
import type { Scene } from '../../lib/node/doctor/scene'
import { testFolder } from './folder'
import { freePort } from './process'

export interface Ward { scene: Scene, home: string, stateDir: string, port: number }

/** A machine that is well, for the doctor: a home folder, a state folder, a free port and nothing else. */
export async function healthy (t: Test, env: Record<string, string> = {}, more: Partial<Scene> = {}): Promise<Ward> {
  const home = testFolder(t, { project: {} })
  const stateDir = join(home, '.local/state/readyroom')
  mkdirSync(stateDir, { recursive: true })
  chmodSync(stateDir, 0o700)
  const port = await freePort()
  const all = { PATH: process.env['PATH'] ?? '', HOME: home, READYROOM_PORT: String(port), ...env }
  const cwd = join(home, 'project')
  return {
    home,
    stateDir,
    port,
    scene: {
      config: readConfig({ env: all, cwd, home: () => home }),
      flags: {},
      faults: [],
      place: { platform: process.platform, env: all, home, cwd },
      version: '1.2.3',
      nodeVersion: process.versions.node,
      uid: process.getuid!(),
      now: Date.now,
      // What the disk of the test is like is not what is tested.
      statfs: path => ({ ...statfsSync(path), type: 0xef53, bsize: 4096, bavail: 1_000_000, files: 1_000_000, ffree: 900_000 }),
      quick: false,
      auditTime: () => new AbortController().signal,
      httpMs: 2_000,
      url: undefined,
      ...more
    }
  }
}

/** What the doctor says that is not well, as `status id: message -> fix`; the report is of the shape that is promised. */
export async function complaints (scene: Scene): Promise<string[]> {
  const report = await examine(scene)
  if (!Value.Check(DoctorReportSchema, report)) throw new Error(`Not a report: ${JSON.stringify(report)}`)
  const line = ({ status, id, message, fix }: Check): string => `${status} ${id}: ${message} -> ${fix}`
  return report.checks.filter(({ status }) => status !== 'ok').map(line)
}

/** The same without the one that every fresh machine has: no client knows of it. */
export const illnesses = async (scene: Scene): Promise<string[]> =>
  (await complaints(scene)).filter(line => !line.startsWith('warn clients:'))
