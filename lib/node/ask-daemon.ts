import { setTimeout as delay } from 'node:timers/promises'
import type { DaemonStatus } from '../../schemas/internal'
import type { Config } from './config'
import { readDaemonFile, type DaemonFile } from './daemon-file'
import { LinkError } from './exchange'
import { acquireFolder, FolderError, FolderHeldError } from './folder-lock'
import { Link } from './link'
import { askPortHolder } from './port-holder'
import { folderHeldInSilence, folderReplaced } from './refusals'

const PROVE_MS = 5_000
const CALL_MS = 5_000
/** How long a daemon that opens or closes may listen without a daemon.json, in milliseconds. */
const OPENING_MS = 1_500
/** How long a daemon has to close after it was told to stop, in milliseconds. */
const STOP_MS = 10_000

export type Whereabouts = Pick<Config, 'bind' | 'port' | 'stateDir' | 'given'>

/**
 * What the daemon says of itself, or undefined where none runs. Believes only what has proved that it knows the secret of
 * a daemon.json of this user; never looks at a pid.
 * @throws RefusedError when it does not answer
 */
export async function askDaemon (where: Whereabouts): Promise<DaemonStatus | undefined> {
  const link = await findDaemon(where)
  if (link === undefined) return undefined
  try {
    return await link.call<DaemonStatus>('GET', '/internal/status', undefined, { timeoutMs: CALL_MS })
  } catch (err) {
    if (err instanceof LinkError && err.failure !== 'silent') return undefined
    throw err instanceof LinkError ? folderHeldInSilence(where.stateDir) : err
  } finally {
    link.close()
  }
}

export interface Stopped {
  /** What the daemon was. */
  stopped: DaemonStatus
  /** The one of its clients that has become the daemon already, where one has. */
  successor: DaemonStatus | undefined
}

/**
 * Tells the daemon to end, and resolves once it has let go of its folder. Undefined where none runs.
 * @throws RefusedError when it does not answer or does not end
 */
export async function stopDaemon (where: Whereabouts): Promise<Stopped | undefined> {
  const link = await findDaemon(where)
  if (link === undefined) return undefined
  try {
    const stopped = await link.call<DaemonStatus>('GET', '/internal/status', undefined, { timeoutMs: CALL_MS })
    await link.call('POST', '/internal/stop', {}, { timeoutMs: CALL_MS })
    return { stopped, successor: await nextDaemon(where, stopped) }
  } catch (err) {
    if (err instanceof LinkError && err.failure !== 'silent') return undefined
    throw err instanceof LinkError ? folderHeldInSilence(where.stateDir) : err
  } finally {
    link.close()
  }
}

/** Resolves once the daemon has gone, with the one that has followed it already. */
async function nextDaemon (where: Whereabouts, { instance, state_dir: stateDir }: DaemonStatus): Promise<DaemonStatus | undefined> {
  const own = { ...where, stateDir, given: { ...where.given, stateDir: true } }
  const end = performance.now() + STOP_MS
  while (performance.now() < end) {
    const file = readDaemonFile(stateDir)
    const next = file === undefined || file.instance === instance ? undefined : await askDaemon(own)
    if (next !== undefined) return next
    if (isFree(stateDir)) return undefined
    await delay(20)
  }
  throw folderHeldInSilence(stateDir)
}

function isFree (dir: string): boolean {
  try {
    acquireFolder(dir).release()
    return true
  } catch (err) {
    // A folder that can no longer be used is nobody's either.
    return err instanceof FolderError && !(err instanceof FolderHeldError)
  }
}

/** The daemon of the folder or, where the folder was not chosen here, of the port. */
async function findDaemon ({ bind, port, stateDir, given }: Whereabouts): Promise<Link | undefined> {
  const end = performance.now() + OPENING_MS
  for (;;) {
    const own = readDaemonFile(stateDir)
    const link = own && await prove(own, bind, stateDir)
    if (link !== undefined) return link
    const holder = await askPortHolder(bind, port, 1_000)
    const isOurs = holder.kind === 'readyroom' && holder.identity.uid === (process.getuid?.() ?? -1)
    const dir = isOurs ? holder.identity.state_dir : undefined
    if (dir === undefined) return undefined
    if (dir !== stateDir) {
      const file = given.stateDir ? undefined : readDaemonFile(dir)
      return file?.port === port ? await prove(file, bind, dir) : undefined
    }
    // It says that it is the one; daemon.json leads there in a moment, unless the folder is no longer the same.
    if (performance.now() >= end) throw folderReplaced(port, stateDir)
    await delay(20)
  }
}

async function prove (file: DaemonFile, bind: string, dir: string): Promise<Link | undefined> {
  try {
    return await Link.prove(file, bind, { timeoutMs: PROVE_MS })
  } catch (err) {
    if (err instanceof LinkError && err.failure === 'silent') throw folderHeldInSilence(dir)
    if (err instanceof LinkError) return undefined
    throw err
  }
}
