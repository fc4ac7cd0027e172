import { setTimeout as delay } from 'node:timers/promises'
import type { DaemonStatus } from '../../../schemas/internal'
import type { Stopped } from '../ask-daemon'
import type { Output } from '../output'

export interface StopOptions {
  /** Ends the daemon and resolves once it has let go of the queue. Undefined where none runs. */
  stopDaemon: () => Promise<Stopped | undefined>
  /** What the daemon says of itself, or undefined where none runs. */
  askDaemon: () => Promise<DaemonStatus | undefined>
  out: Output
  /** How long one of the clients has to take over, in milliseconds. They need less than a second, unless the machine is very busy. */
  takeoverMs?: number
}

/** Between two looks for a new daemon, in milliseconds. */
const LOOK_MS = 50

/**
 * Ends the daemon, and says what became of the queue. Where none runs there is nothing to do, which is what was wanted:
 * exit code 0. Where agents are attached one of their processes takes over, and the queue ends when they do.
 */
export async function stop ({ stopDaemon, askDaemon, out, takeoverMs = 5_000 }: StopOptions): Promise<number> {
  const result = await stopDaemon()
  if (result === undefined) {
    await out.write('No Ready Room is running.\n')
    return 0
  }
  const { pid, stopped } = result
  // Of one that was ending already it is not known who was attached.
  const heir = result.successor ?? (stopped?.clients.length === 0 ? undefined : await heirOf(askDaemon, takeoverMs))
  await out.write(`Ready Room (pid ${pid}) has stopped. ${heir === undefined
    ? kept(stopped?.pending)
    : `A process that was attached to it (pid ${heir.pid}) has taken over; the queue closes when its agents have left.`}\n`)
  return 0
}

async function heirOf (askDaemon: StopOptions['askDaemon'], ms: number): Promise<DaemonStatus | undefined> {
  const end = performance.now() + ms
  while (performance.now() < end) {
    const heir = await askDaemon()
    if (heir !== undefined) return heir
    await delay(LOOK_MS)
  }
}

function kept (pending: number | undefined): string {
  if (pending === undefined) return 'Whatever was pending is kept for the next start.'
  if (pending === 0) return 'Nothing was pending.'
  return `${pending === 1 ? 'The pending ticket is' : `The ${pending} pending tickets are`} kept for the next start.`
}
