import { setTimeout as delay } from 'node:timers/promises'
import type { Leading } from './election'
import type { Log } from './log'
import { Successor, type SuccessorOptions } from './successor'

export interface HeirTimings {
  /** How long attached clients are watched before they count as staying, in milliseconds: agents often end together. */
  partingMs: number
  /** How long a successor has to load, in milliseconds. */
  readyMs: number
  /** How long it has to take over once it has loaded, in milliseconds. */
  holdingMs: number
}

export const HEIR_TIMINGS: HeirTimings = { partingMs: 150, readyMs: 1_000, holdingMs: 400 }

/** Whether a daemon that leaves should leave somebody: nobody else will take over, and somebody may still come to answer. */
export async function needsHeir ({ clients, daemon }: Leading, { partingMs }: HeirTimings): Promise<boolean> {
  const end = performance.now() + partingMs
  while (clients.size > 0 && performance.now() < end) await delay(10)
  if (clients.size > 0) return false
  // What is due needs nobody to wait for it.
  await daemon.desk.expireDue().catch(() => {})
  return daemon.desk.pendingCount > 0 || daemon.presence.isPageOpen()
}

/** A successor that has loaded and waits for the lock. One that is late may still take over by itself: it is not ended. */
export async function raiseHeir (options: SuccessorOptions, { readyMs }: HeirTimings, log: Log): Promise<Successor | undefined> {
  try {
    const heir = new Successor(options)
    if (await heir.isReady(readyMs)) return heir
    log.warn({ successor: heir.pid }, 'The successor is not ready in time; every ticket is safe in the state folder')
    heir.release()
  } catch (err) {
    log.warn({ err }, 'No successor could be started; every ticket is safe in the state folder')
  }
  return undefined
}

/** Waits until the successor holds the lock and the port that have just been let go. */
export async function install (heir: Successor, { holdingMs }: HeirTimings, log: Log): Promise<void> {
  if (!await heir.isHolding(holdingMs)) log.warn({ successor: heir.pid }, 'The successor has not said that it has taken over')
  heir.release()
}
