import { setTimeout as delay } from 'node:timers/promises'
import type { DaemonStatus } from '../../../schemas/internal'
import type { Output } from '../output'

export interface StopOptions {
  /** What the daemon says of itself, or undefined where none runs. */
  askDaemon: () => Promise<DaemonStatus | undefined>
  /** Asks the daemon to end. Returns what it was, or undefined where none runs. */
  stopDaemon: () => Promise<DaemonStatus | undefined>
  out: Output
  /** How long a daemon may take to go, in milliseconds. */
  deadlineMs?: number
}

/** How often it is looked whether the daemon has gone, in milliseconds. */
const LOOK_MS = 50

/** Clients elect a new daemon within a second; so long it is looked for one. */
const TAKEOVER_MS = 1_500

/**
 * Ends the daemon, and says what became of the queue. Where none runs there is nothing to do, which is what was wanted:
 * exit code 0. Where agents are attached one of them takes over: their queue ends when they do. 1 where it does not end.
 */
export async function stop ({ askDaemon, stopDaemon, out, deadlineMs = 5_000 }: StopOptions): Promise<number> {
  const daemon = await stopDaemon()
  if (daemon === undefined) {
    await out.write('No Ready Room is running.\n')
    return 0
  }
  const { gone, heir } = await outcome(daemon, askDaemon, deadlineMs)
  if (!gone) {
    await out.write(`Ready Room (pid ${daemon.pid}) was asked to stop and is still there after ${deadlineMs / 1_000} seconds. Its tickets are safe; end the process.\n`)
    return 1
  }
  const kept = daemon.pending === 0 ? '' : ` ${daemon.pending === 1 ? 'The pending ticket is' : `The ${daemon.pending} pending tickets are`} kept.`
  await out.write(heir === undefined
    ? `Ready Room (pid ${daemon.pid}) has stopped.${kept}\n`
    : `Ready Room (pid ${daemon.pid}) has stopped, and the process of an agent (pid ${heir.pid}) has taken over, since ` +
      'agents are still attached. The queue closes when they leave.\n')
  return 0
}

async function outcome (
  daemon: DaemonStatus, askDaemon: StopOptions['askDaemon'], deadlineMs: number
): Promise<{ gone: boolean, heir?: DaemonStatus }> {
  const start = performance.now()
  let goneAt: number | undefined
  for (;;) {
    const now = await askDaemon().catch(() => undefined)
    if (now !== undefined && now.instance !== daemon.instance) return { gone: true, heir: now }
    if (now === undefined) {
      goneAt ??= performance.now()
      if (daemon.clients.length === 0 || performance.now() - goneAt > TAKEOVER_MS) return { gone: true }
    } else if (performance.now() - start > deadlineMs) {
      return { gone: false }
    }
    await delay(LOOK_MS)
  }
}
