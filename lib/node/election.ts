import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Desk } from '../desk'
import { isLoopbackAddress } from '../origin'
import type { Doors } from '../doors'
import type { Presence } from '../presence'
import { AttachedClients } from './attached'
import type { Config } from './config'
import { PROTOCOL, readDaemonFile, removeDaemonFile, writeDaemonFile } from './daemon-file'
import { explainDiskError } from './disk-error'
import { LinkError, localHosts } from './exchange'
import { acquireFolder, FolderError, FolderHeldError, type FolderLock } from './folder-lock'
import { settingsOf, type InternalOptions } from './internal-options'
import { joinDaemon, type Joined } from './join'
import { Link } from './link'
import { askPortHolder, judgePortHolder, type JudgePatience, type PortHolder } from './port-holder'
import { newSecret } from './proof'
import { cannotListen, folderHeldInSilence, folderReplaced, portHeldByOtherFolder, portHeldByOtherUser, portHeldByStranger } from './refusals'
import { RefusedError } from './refused'
import { releaseOf } from './versions'

/** What the entry point makes of a config and the lock of its folder: an app that listens, exclusively, on the port. */
export interface OpenDaemonContext { config: Config, lock: FolderLock, instance: string, internal: InternalOptions }

export interface OpenDaemon {
  port: number
  desk: Desk
  /** Who may do what there; left out, everybody is the owner. */
  doors?: Doors
  presence: Presence
  /** Whether the audit log was deleted under it. */
  isLogDeleted (): Promise<boolean>
  /** Answers the waiters, ends the streams, and resolves when everything is durable and the folder's lock released. */
  close (): Promise<void>
}

export interface Leading {
  role: 'daemon'
  config: Config
  instance: string
  daemon: OpenDaemon
  clients: AttachedClients
  /** Whether the state folder was deleted under it. */
  isDeleted (): Promise<boolean>
  close (): Promise<void>
}

export interface Following extends Joined { role: 'client' }
export type Elected = Leading | Following

export interface Timings extends JudgePatience {
  /** Between two looks at who holds the folder, in milliseconds; varied by half, so that many processes do not look at once. */
  pollMs: number
  /** How long a holder has to prove itself, in milliseconds. */
  proveMs: number
}

export const TIMINGS: Timings = { pollMs: 50, proveMs: 5_000, strangerMs: 1_000, silentMs: 6_000 }

export interface Candidate {
  /** Changes when an older daemon hands over: its settings stay in force. */
  config: Config
  version: string
  openDaemon (context: OpenDaemonContext): Promise<OpenDaemon>
  onStop (): void
  onHandOver (): void
  timings: Timings
  signal: AbortSignal
  /** No bid for the folder before this time (of performance.now()): somebody else is to have it. */
  standBackUntil: number
  /** Gives up on a holder that never proves itself, at this time (of performance.now()). */
  giveUpAt: number
  /** Whether joining somebody else's daemon is of any use yet. */
  mayFollow (): boolean
}

/**
 * Finds this process its place. Whoever gets the kernel's lock on the state folder is the daemon if it gets the port as
 * well; whoever does not joins the one that has, once that has proved itself. daemon.json only says where to look. A
 * holder that is starting, closing or stopped is waited for, and never replaced while it holds the lock.
 * @throws RefusedError with the remedy; the reason of `signal`
 */
export async function elect (candidate: Candidate): Promise<Elected> {
  for (;;) {
    candidate.signal.throwIfAborted()
    const elected = await bid(candidate) ?? (candidate.mayFollow() ? await follow(candidate, candidate.config.stateDir) : undefined)
    if (elected !== undefined) return elected
    if (performance.now() >= candidate.giveUpAt) throw folderHeldInSilence(candidate.config.stateDir)
    const { pollMs } = candidate.timings
    await delay(pollMs * (0.5 + Math.random()), undefined, { signal: candidate.signal })
  }
}

async function follow (candidate: Candidate, dir: string): Promise<Elected | undefined> {
  const file = readDaemonFile(dir)
  if (file === undefined) return undefined
  try {
    const link = await Link.prove(file, candidate.config.bind, { timeoutMs: candidate.timings.proveMs, signal: candidate.signal })
    const joined = await joinDaemon(link, { version: candidate.version, config: { ...candidate.config, stateDir: dir } })
    if (!('handedOver' in joined)) return { role: 'client', ...joined }
    candidate.config = joined.handedOver
    return undefined
  } catch (err) {
    if (err instanceof LinkError) return undefined
    throw err
  }
}

/** Tries to be the daemon. Undefined where somebody else is, or is about to be. */
async function bid (candidate: Candidate): Promise<Elected | undefined> {
  const { config, timings } = candidate
  if (performance.now() < candidate.standBackUntil) return undefined
  const lock = acquire(config.stateDir)
  if (lock === undefined) return undefined
  try {
    // Spares loading the queue where the port is taken; listening decides.
    const holder = await askPortHolder(config.bind, config.port, 300)
    if (holder.kind === 'readyroom') {
      lock.release()
      return await withHolder(candidate, holder)
    }
    return await lead(candidate, lock)
  } catch (err) {
    lock.release()
    if ((err as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cannotListen(config, err) ?? err
    return await withHolder(candidate, await judgePortHolder(config.bind, config.port, timings))
  }
}

function acquire (dir: string): FolderLock | undefined {
  try {
    return acquireFolder(dir)
  } catch (err) {
    if (err instanceof FolderHeldError) return undefined
    if (err instanceof FolderError) throw new RefusedError(err.message, { cause: err })
    throw err
  }
}

async function lead ({ config, version, openDaemon, ...candidate }: Candidate, lock: FolderLock): Promise<Leading> {
  const instance = randomUUID()
  const secret = newSecret()
  const startedAt = new Date().toISOString()
  const clients = new AttachedClients()
  const daemon = await openDaemon({
    config,
    lock,
    instance,
    internal: {
      secret,
      instance,
      release: releaseOf(version),
      startedAt,
      settings: settingsOf(config),
      lingering: config.linger,
      clients,
      onStop: candidate.onStop,
      onHandOver: candidate.onHandOver
    }
  })
  const close = async (): Promise<void> => {
    // Removed while the lock is still ours. Whoever looks now waits for the next one.
    removeDaemonFile(lock.dir)
    try {
      await daemon.close()
    } finally {
      lock.release()
    }
  }
  try {
    writeDaemonFile(lock.dir, {
      pid: process.pid, port: daemon.port, started_at: startedAt, instance, secret, protocol: PROTOCOL, ...unlikely(config.bind)
    })
  } catch (err) {
    await close()
    const { what, remedy } = explainDiskError(err)
    throw new RefusedError(`daemon.json cannot be written in the state folder ${lock.dir}: ${what}. ${remedy}.`, { cause: err })
  }
  // A log that is gone while daemon.json is there can be put back; with both gone it is the folder that was deleted.
  const isDeleted = async (): Promise<boolean> => readDaemonFile(lock.dir)?.instance !== instance && await daemon.isLogDeleted()
  return { role: 'daemon', config, instance, daemon, clients, isDeleted, close }
}

/** What daemon.json says of an address that those who were not told it would not try. */
const unlikely = (bind: string): { bind?: string } =>
  isIP(bind) !== 0 && isLoopbackAddress(bind) && !localHosts('').includes(bind) ? { bind } : {}

/** The port is somebody else's, though our folder is nobody's. A folder that was not chosen here gives way to the one in use. */
async function withHolder (candidate: Candidate, holder: PortHolder): Promise<Elected | undefined> {
  const { config: { port, stateDir, given } } = candidate
  if (holder.kind === 'nobody') return undefined
  if (holder.kind !== 'readyroom') throw portHeldByStranger(port, holder.kind === 'silent')
  const { identity } = holder
  if (identity.uid !== (process.getuid?.() ?? -1)) throw portHeldByOtherUser(port, identity)
  // Its lock would be in our way if it were still the same folder.
  if (identity.state_dir === stateDir) throw folderReplaced(port, stateDir)
  if (identity.state_dir === undefined || given.stateDir) throw portHeldByOtherFolder(port, stateDir, identity)
  const end = performance.now() + candidate.timings.strangerMs
  for (;;) {
    const elected = await follow(candidate, identity.state_dir)
    if (elected !== undefined || candidate.config.stateDir !== stateDir) return elected
    const now = await askPortHolder(candidate.config.bind, port, candidate.timings.silentMs)
    if (now.kind !== 'readyroom' || now.identity.instance !== identity.instance) return undefined
    // It claims a folder whose daemon.json it does not know the secret of.
    if (performance.now() >= end) throw portHeldByStranger(port, false)
    await delay(candidate.timings.pollMs, undefined, { signal: candidate.signal })
  }
}
