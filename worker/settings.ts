import type { OriginPolicy } from '../lib/origin'
import { badSetting, readAddress, readOrigins, readPolicy, readSources, readSwitch, readToken, readWhole, tokenWarning } from '../lib/settings'

/** The secret and the variables of a deployment, as text. */
export interface SettingsEnv {
  READYROOM_TOKEN?: string
  READYROOM_QUEUE?: string
  READYROOM_ALLOWED_ORIGINS?: string
  READYROOM_ORIGIN_POLICY?: string
  READYROOM_FRAME_ANCESTORS?: string
  READYROOM_ADMIN_API?: string
  READYROOM_ANNOUNCE_UPGRADES?: string
  READYROOM_PRUNE?: string
  READYROOM_PRUNE_INTERVAL?: string
  READYROOM_CONSOLE_LAN_ONLY?: string
  READYROOM_ENABLE_UI?: string
  READYROOM_PUBLIC_URL?: string
}

/** What a deployment runs with. Read once, when it wakes. */
export interface Settings {
  /** Unset means that nobody may act: there is no loopback here to fall back on. */
  token: string | undefined
  /** Which queue: each name is one Durable Object. */
  queue: string
  allowedOrigins: string[]
  originPolicy: OriginPolicy
  frameAncestors: string[]
  /** Whether a minted token may administer identity and rooms. The owner's secret always may: there is no other way in. */
  adminApi: boolean
  /** Whether the rooms are told that another version was deployed. */
  announceUpgrades: boolean
  /** Whether a room's object takes away what is over, and in milliseconds how long it lets pass between two rounds. */
  prune: boolean
  pruneIntervalMs: number
  /** On, there is neither `/ui` nor `/admin`: no network is around a Worker, and Access has to stand before them. */
  consoleLanOnly: boolean
  /** Whether `/ui` is there. */
  enableUi: boolean
  /** Where agents reach it, without a slash at the end; empty where that is the name it is asked under. */
  publicUrl: string
  /** What the person should know, though it runs all the same. */
  warning: string | undefined
}

const DEFAULT_QUEUE = 'queue'

function readQueue (text: string): string {
  const name = text.trim()
  if (name.length > 100 || /\p{Cc}/u.test(name)) throw new Error('it must be a name of at most 100 characters without control characters')
  return name
}

/** @throws Error for an address below a path: nothing of a Worker is there. */
function readOwnAddress (text: string): string {
  const address = readAddress(text)
  if (new URL(address).origin !== address) throw new Error('it must have no path: a Worker answers at the root of its name only')
  return address
}

/**
 * A blank value stands for the default, as a variable that is left empty does elsewhere; a blank token is none.
 * @throws Error naming the variable, its value (never the token's) and what is allowed: a guard that is set up wrongly must not stand open.
 */
export function readSettings (env: SettingsEnv): Settings {
  function setting<T> (name: keyof SettingsEnv, read: (text: string) => T): T | undefined {
    const text = env[name]
    if (text === undefined || text.trim() === '') return undefined
    try {
      return read(text)
    } catch (err) {
      throw new Error(badSetting(name, name === 'READYROOM_TOKEN' ? undefined : text, err))
    }
  }

  const token = setting('READYROOM_TOKEN', readToken)
  return {
    token,
    queue: setting('READYROOM_QUEUE', readQueue) ?? DEFAULT_QUEUE,
    allowedOrigins: setting('READYROOM_ALLOWED_ORIGINS', readOrigins) ?? [],
    originPolicy: setting('READYROOM_ORIGIN_POLICY', readPolicy) ?? 'strict',
    frameAncestors: setting('READYROOM_FRAME_ANCESTORS', readSources) ?? [],
    adminApi: setting('READYROOM_ADMIN_API', readSwitch) ?? false,
    announceUpgrades: setting('READYROOM_ANNOUNCE_UPGRADES', readSwitch) ?? true,
    prune: setting('READYROOM_PRUNE', readSwitch) ?? true,
    pruneIntervalMs: (setting('READYROOM_PRUNE_INTERVAL', readWhole(1, 86_400)) ?? 3_600) * 1_000,
    consoleLanOnly: setting('READYROOM_CONSOLE_LAN_ONLY', readSwitch) ?? true,
    enableUi: setting('READYROOM_ENABLE_UI', readSwitch) ?? true,
    publicUrl: setting('READYROOM_PUBLIC_URL', readOwnAddress) ?? '',
    warning: token === undefined ? undefined : tokenWarning(token)
  }
}
