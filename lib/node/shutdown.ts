import type { Log } from './log'

/** Those who stop a process wait two seconds or more before they kill it; everything is over before that, in milliseconds. */
const DEADLINE_MS = 1_900

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export interface ShutdownOptions {
  /** Lets go of everything. Called once. */
  close: () => Promise<void>
  log: Log
  deadlineMs?: number
  /** The process itself, but in tests. */
  from?: Pick<NodeJS.Process, 'on' | 'exit'>
}

/**
 * How a process ends: once, in time, whoever asks for it first. Returns how to end it from inside. A second signal is
 * somebody who will not wait.
 */
export function onShutdown ({ close, log, deadlineMs = DEADLINE_MS, from = process }: ShutdownOptions): (why: string) => void {
  let ending = false

  const end = (why: string): void => {
    if (ending) return
    ending = true
    log.info({}, `Stopping: ${why}`)
    const deadline = setTimeout(() => {
      log.error({}, `Not closed after ${deadlineMs} ms; ending all the same. Every ticket that was acknowledged is saved`)
      from.exit(1)
    }, deadlineMs)
    close().finally(() => clearTimeout(deadline)).then(
      () => from.exit(0),
      err => {
        log.error({ err }, 'Could not close in order. Every ticket that was acknowledged is saved')
        from.exit(1)
      })
  }

  // Those who start servers close their standard input first and send a signal soon after: it asks for what is under way.
  let signals = 0
  for (const signal of SIGNALS) {
    from.on(signal, () => ++signals > 1 ? from.exit(1) : end(`${signal} received`))
  }
  const fail = (err: unknown): void => {
    // What state a process is in after this nobody knows; whatever it had acknowledged is on the disk.
    log.error({ err }, 'Unexpected error; ending')
    from.exit(1)
  }
  from.on('uncaughtException', fail)
  from.on('unhandledRejection', fail)
  return end
}
