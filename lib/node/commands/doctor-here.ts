import { statfsSync } from 'node:fs'
import { homedir } from 'node:os'
import { readAddress } from '../clients/way'
import type { CommandLine } from '../command-line'
import { type Config, ConfigError, FLAGS, type Flags, readConfig, variableOf } from '../config'
import { examine } from '../doctor/doctor'
import { mend } from '../doctor/mend'
import type { Scene } from '../doctor/scene'
import type { Output } from '../output'
import { VERSION } from '../version'
import { doctor } from './doctor'

const AUDIT_MS = 30_000
const HTTP_MS = 5_000

type Env = Record<string, string | undefined>

/** Runs the doctor on this machine. @throws ConfigError with exit code 2 where the command line is wrong */
export function doctorHere (
  { line, cwd, out, note }: { line: CommandLine, cwd: string, out: Output, note: (message: string) => void }
): Promise<number> {
  const { flags, url, quick = false, fix = false, json } = line
  const { config, faults } = readForgivingly(flags, process.env, cwd)
  try {
    if (url !== undefined) readAddress(url)
  } catch (err) {
    throw new ConfigError(`--url: ${(err as Error).message}.`, 2)
  }
  const scene: Scene = {
    config,
    flags,
    faults,
    place: { platform: process.platform, env: process.env, home: homedir(), cwd },
    version: VERSION,
    nodeVersion: process.versions.node,
    uid: process.getuid?.() ?? -1,
    now: Date.now,
    statfs: statfsSync,
    quick,
    auditTime: () => AbortSignal.timeout(AUDIT_MS),
    httpMs: HTTP_MS,
    url
  }
  return doctor({ examine: () => examine(scene), mend: fix ? () => mend(scene) : undefined, json, out, note })
}

/**
 * The settings, and what is wrong with the variables that had to be left out for them.
 * @throws ConfigError where a flag is wrong, or nothing says where the queue is
 */
export function readForgivingly (flags: Flags, env: Env, cwd: string): { config: Config, faults: string[] } {
  const faults: string[] = []
  const usable: Env = { ...env }
  for (const name of FLAGS.map(variableOf)) {
    if (env[name] === undefined) continue
    const others = Object.fromEntries(Object.entries(env).filter(([other]) => other === name || !other.startsWith('READYROOM_')))
    try {
      readConfig({ env: others, cwd })
    } catch (err) {
      if (!(err instanceof ConfigError) || !err.message.startsWith(name)) continue
      faults.push(err.message)
      delete usable[name]
    }
  }
  return { config: readConfig({ flags, env: usable, cwd }), faults }
}
