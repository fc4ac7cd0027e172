import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { edgeEnvironment } from './edge-settings'
import type { DaemonSettings } from './internal-options'

export const SUCCESSOR_LOG = 'linger.log'

type Word = 'ready' | 'holding' | 'superfluous'

export interface SuccessorOptions {
  settings: DaemonSettings
  /** The script that this process runs. */
  script?: string
  execArgv?: readonly string[]
  env?: NodeJS.ProcessEnv
}

/** A detached process that is about to take over from this one. */
export class Successor {
  readonly #child: ChildProcess
  readonly #said = new Map<Word, PromiseWithResolvers<boolean>>()

  /** Starts it. @throws when it cannot be started */
  constructor ({ settings, script = process.argv[1] ?? '', execArgv = process.execArgv, env = process.env }: SuccessorOptions) {
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants
    const log = openSync(join(settings.stateDir, SUCCESSOR_LOG), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
    try {
      // Not in the agent's folder, which may be removed; an inspector's port is taken, or would hold it up.
      this.#child = spawn(process.execPath, [...execArgv.filter(arg => !arg.startsWith('--inspect')), resolve(script), 'serve', '--linger'], {
        cwd: settings.stateDir,
        detached: true,
        env: environmentOf(settings, env),
        stdio: ['ignore', 'ignore', log, 'ipc'],
        windowsHide: true
      })
    } finally {
      closeSync(log)
    }
    const over = (): void => { for (const word of ['ready', 'holding', 'superfluous'] as const) this.#of(word).resolve(false) }
    this.#child.on('message', word => { this.#of(word as Word).resolve(true) })
    this.#child.once('error', over)
    this.#child.once('exit', over)
    this.#child.once('disconnect', over)
  }

  get pid (): number | undefined { return this.#child.pid }

  /** Whether it has loaded and waits for the lock, within `ms`. False at once when it has failed. */
  isReady (ms: number): Promise<boolean> { return within(ms, this.#of('ready').promise) }

  /** Whether it holds the lock and the port, within `ms`. False at once when it does not need to, or has failed. */
  isHolding (ms: number): Promise<boolean> {
    const superfluous = this.#of('superfluous').promise.then(said => said ? false : this.#of('holding').promise)
    return within(ms, Promise.race([this.#of('holding').promise, superfluous]))
  }

  /** Lets go of it; it lives on by itself. */
  release (): void {
    if (this.#child.connected) this.#child.disconnect()
    this.#child.unref()
  }

  #of (word: Word): PromiseWithResolvers<boolean> {
    let said = this.#said.get(word)
    if (said === undefined) this.#said.set(word, said = Promise.withResolvers<boolean>())
    return said
  }
}

/** The other side: what a successor says to the process that it takes over from. */
export interface Predecessor {
  say (word: Word): void
  /** Resolves when it has gone. */
  readonly gone: Promise<void>
  release (): void
}

/** The process that started this one as its successor, if one did. */
export function findPredecessor (): Predecessor | undefined {
  if (!process.connected || process.send === undefined) return undefined
  return {
    say (word) {
      // It may be gone by now, which changes nothing.
      if (process.connected) process.send!(word, undefined, undefined, () => {})
    },
    gone: new Promise<void>(resolve => process.once('disconnect', () => resolve())),
    release () {
      if (process.connected) process.disconnect()
    }
  }
}

function environmentOf (settings: DaemonSettings, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { stateDir, port, bind, token, allowedOrigins, originPolicy, trustProxy, frameAncestors, metrics, edge, tools } = settings
  const others = Object.entries(env).filter(([name]) => !name.startsWith('READYROOM_'))
  return {
    ...Object.fromEntries(others),
    READYROOM_STATE_DIR: stateDir,
    READYROOM_PORT: String(port),
    READYROOM_BIND: bind,
    // In the environment, which only this user can read, and not on the command line, which everybody can.
    ...(token !== undefined && { READYROOM_TOKEN: token }),
    READYROOM_ALLOWED_ORIGINS: allowedOrigins.join(','),
    READYROOM_ORIGIN_POLICY: originPolicy,
    READYROOM_TRUST_PROXY: typeof trustProxy === 'string' ? trustProxy : trustProxy ? 'on' : 'off',
    READYROOM_FRAME_ANCESTORS: frameAncestors.join(' '),
    READYROOM_METRICS: metrics ? 'on' : 'off',
    ...(tools !== undefined && { READYROOM_TOOLS: tools }),
    ...edgeEnvironment(edge)
  }
}

async function within (ms: number, promise: Promise<boolean>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<boolean>(resolve => { timer = setTimeout(() => resolve(false), ms) })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
