import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { DaemonStatus, JoinReply } from '../../schemas/internal'
import type { Config } from './config'
import { readDaemonFile, type DaemonFile } from './daemon-file'
import { LinkError } from './exchange'
import { acquireFolder, FolderError, FolderHeldError, LOCK_FILE } from './folder-lock'
import type { DaemonSettings } from './internal-options'
import { Link } from './link'
import { askPortHolder } from './port-holder'
import { unseal } from './proof'
import { folderHeldInSilence, folderReplaced } from './refusals'

const PROVE_MS = 5_000
const CALL_MS = 5_000
/** How long a daemon that opens or closes may listen without a daemon.json, in milliseconds. */
const OPENING_MS = 1_500
/** How long a daemon has to close after it was told to stop, in milliseconds. */
const STOP_MS = 10_000
/** How long a folder may be nobody's while a client takes over, in milliseconds. */
const GAP_MS = 200
/** Between two looks, in milliseconds. */
const LOOK_MS = 20

export type Whereabouts = Pick<Config, 'bind' | 'port' | 'stateDir' | 'given'>

/**
 * What the daemon says of itself, or undefined where none runs. Believes only what has proved that it knows the secret of
 * a daemon.json of this user; never looks at a pid.
 * @throws RefusedError when it does not answer
 */
export async function askDaemon (where: Whereabouts): Promise<DaemonStatus | undefined> {
  const found = await findDaemon(where)
  if (found === undefined) return undefined
  const { link } = found
  try {
    return await link.call<DaemonStatus>('GET', '/internal/status', undefined, { timeoutMs: CALL_MS })
  } catch (err) {
    if (isGone(err)) return undefined
    throw err instanceof LinkError ? folderHeldInSilence(where.stateDir) : err
  } finally {
    link.close()
  }
}

export interface Inspected {
  status: DaemonStatus
  settings: DaemonSettings
}

/**
 * What a daemon of this version's protocol runs with, its token too, which is for comparing only. Undefined where none runs.
 * @throws RefusedError when it does not answer
 */
export async function inspectDaemon (where: Whereabouts): Promise<Inspected | undefined> {
  const found = await findDaemon(where)
  if (found === undefined) return undefined
  const { link } = found
  try {
    const { status, sealed } = await link.call<JoinReply>('GET', '/internal/join', undefined, { timeoutMs: CALL_MS })
    return { status, settings: JSON.parse(unseal(link.file.secret, 'settings', sealed)) as DaemonSettings }
  } catch (err) {
    if (isGone(err)) return undefined
    throw err instanceof LinkError ? folderHeldInSilence(where.stateDir) : err
  } finally {
    link.close()
  }
}

export interface Stopped {
  /** For people to read. */
  pid: number
  /** What the daemon was; undefined where it was ending already and said no more. */
  stopped: DaemonStatus | undefined
  /** The one of its clients that has become the daemon already, where one has. */
  successor: DaemonStatus | undefined
}

/**
 * Tells the daemon to end, and resolves once it has let go of its folder. One that is ending already, because somebody
 * else was faster, is waited for. Undefined where none runs.
 * @throws RefusedError when it does not answer or does not end
 */
export async function stopDaemon (where: Whereabouts): Promise<Stopped | undefined> {
  const found = await findDaemon(where) ?? await findComing(where)
  if (found === undefined) return undefined
  const { link, dir } = found
  const { pid, instance } = link.file
  let stopped: DaemonStatus | undefined
  try {
    stopped = await link.call<DaemonStatus>('GET', '/internal/status', undefined, { timeoutMs: CALL_MS })
    await link.call('POST', '/internal/stop', {}, { timeoutMs: CALL_MS })
  } catch (err) {
    if (!isGone(err)) throw err instanceof LinkError ? folderHeldInSilence(dir) : err
  } finally {
    link.close()
  }
  return { pid, stopped, successor: await nextDaemon(where, dir, instance) }
}

/** Whether a daemon that had proved itself has not answered because it is ending or has ended. */
const isGone = (err: unknown): boolean => err instanceof LinkError && err.failure !== 'silent'

/** The daemon that is just opening, where one is: a folder that is held, or was a moment ago and is nobody's yet, may be changing hands. */
async function findComing (where: Whereabouts): Promise<Found | undefined> {
  const end = performance.now() + OPENING_MS
  const gapEnd = performance.now() + GAP_MS
  // To look at the lock makes a folder, where none has ever run.
  while (existsSync(join(where.stateDir, LOCK_FILE))) {
    if (performance.now() > (isFree(where.stateDir) ? gapEnd : end)) return undefined
    await delay(LOOK_MS)
    const found = await findDaemon(where)
    if (found !== undefined) return found
  }
}

/** Resolves once the daemon has gone, with the one that has followed it already. */
async function nextDaemon (where: Whereabouts, stateDir: string, instance: string): Promise<DaemonStatus | undefined> {
  const own = { ...where, stateDir, given: { ...where.given, stateDir: true } }
  const end = performance.now() + STOP_MS
  while (performance.now() < end) {
    const file = readDaemonFile(stateDir)
    const next = file === undefined || file.instance === instance ? undefined : await askDaemon(own)
    if (next !== undefined) return next
    if (isFree(stateDir)) return undefined
    await delay(LOOK_MS)
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

export interface Found { link: Link, dir: string }

/** The daemon of the folder or, where the folder was not chosen here, of the port. */
export async function findDaemon ({ bind, port, stateDir, given }: Whereabouts): Promise<Found | undefined> {
  const end = performance.now() + OPENING_MS
  for (;;) {
    const own = readDaemonFile(stateDir)
    const found = own && await prove(own, bind, stateDir)
    if (found !== undefined) return found
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
    await delay(LOOK_MS)
  }
}

async function prove (file: DaemonFile, bind: string, dir: string): Promise<Found | undefined> {
  try {
    return { link: await Link.prove(file, bind, { timeoutMs: PROVE_MS }), dir }
  } catch (err) {
    if (err instanceof LinkError && err.failure === 'silent') throw folderHeldInSilence(dir)
    if (err instanceof LinkError) return undefined
    throw err
  }
}
