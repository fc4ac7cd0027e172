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
  /** The wall clock, in milliseconds since 1970. */
  now?: () => number
}

/** Between two looks for a new daemon, in milliseconds. */
const LOOK_MS = 50

/** A daemon is new for so long, in milliseconds, and so long its clients may take to find the one after it. */
const YOUNG_MS = 2_000
const ON_THEIR_WAY_MS = 1_500

/**
 * Ends the daemon, and says what became of the queue. Where none runs there is nothing to do, which is what was wanted:
 * exit code 0. Where agents are attached one of their processes takes over, and the queue ends when they do.
 */
export async function stop ({ stopDaemon, askDaemon, out, takeoverMs = 5_000, now = Date.now }: StopOptions): Promise<number> {
  const result = await stopDaemon()
  if (result === undefined) {
    await out.write('No Ready Room is running.\n')
    return 0
  }
  const { pid, stopped } = result
  const heir = result.successor ?? await heirOf(askDaemon, patienceWith(stopped, takeoverMs, now()))
  await out.write(`Ready Room (pid ${pid}) has stopped. ${heir === undefined
    ? kept(stopped?.pending)
    : `A process that was attached to it (pid ${heir.pid}) has taken over; the queue closes when its agents have left.`}\n`)
  return 0
}

/** How long somebody has to take over, in milliseconds. Of a daemon that was ending already it is not known who was attached. */
function patienceWith (stopped: DaemonStatus | undefined, takeoverMs: number, now: number): number {
  if (stopped === undefined || stopped.clients.length > 0) return takeoverMs
  // Those of the daemon before may still have been on their way to it.
  return now - Date.parse(stopped.started_at) < YOUNG_MS ? Math.min(takeoverMs, ON_THEIR_WAY_MS) : 0
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
