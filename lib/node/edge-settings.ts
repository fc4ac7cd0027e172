import { readAddress, readHosts, readSwitch, readWhole, words } from '../settings'

// The settings of the edge and of the rooms: variables only, since none of them is changed from one start to the next.

export interface Edge {
  /** Host names that lead here, `name`, `name:port` or `name:*`. Empty: see plugins/host. */
  allowedHosts: string[]
  /** Whether a Host header is checked at all. */
  dnsRebindProtection: boolean
  /** How many wrong credentials one address may send in one window; 0 counts none. */
  authFailLimit: number
  /** Seconds. */
  authFailWindow: number
  /** The longest wait for a change in a room, in seconds. */
  maxWaitS: number
  /** What one file of a room may hold. */
  maxFileBytes: number
  /** Whether identity and rooms may be administered over HTTP. */
  adminApi: boolean
  /** Whether `/ui` is there. */
  enableUi: boolean
  /** Whether `/ui` and `/admin` are there for the machines around it alone. */
  consoleLanOnly: boolean
  /** Whether what is older than a room keeps is taken away. */
  prune: boolean
  /** Seconds between two rounds. */
  pruneInterval: number
  /** Whether the rooms are told that another version runs. */
  announceUpgrades: boolean
  /** Where people and agents elsewhere reach it, without a slash at the end; empty where nowhere. Never inferred. */
  publicUrl: string
  /** Names under which the world reaches it, `name`, `name:port` or `name:*`. */
  publicHosts: string[]
  /** Where the machines around it reach it, without a slash at the end; empty where nobody has said. */
  lanUrl: string
  /** The broker that is told what happens in the rooms, `mqtt:`, `mqtts:`, `ws:` or `wss:`; empty where none is. */
  mqttUrl: string
  mqttUser: string
  mqttPassword: string
  /** What each topic begins with, without a slash at the end. */
  mqttPrefix: string
}

interface Setting<T> {
  variable: string
  fallback: T
  /** @throws Error saying what is allowed */
  read (text: string): T
  write (value: T): string
}

const onOff = (variable: string, fallback: boolean): Setting<boolean> => ({ variable, fallback, read: readSwitch, write: on => on ? 'on' : 'off' })

const whole = (variable: string, fallback: number, min: number, max: number): Setting<number> =>
  ({ variable, fallback, read: readWhole(min, max), write: String })

const hosts = (variable: string): Setting<string[]> => ({ variable, fallback: [], read: text => readHosts(words(text, /,/)), write: list => list.join(',') })

const address = (variable: string): Setting<string> => ({ variable, fallback: '', read: readAddress, write: String })

const text = (variable: string): Setting<string> => ({ variable, fallback: '', read: String, write: String })

function isDecodable (text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch { return false }
}

const broker = (variable: string): Setting<string> => ({
  variable,
  fallback: '',
  read (text) {
    const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
    if (url === undefined || !/^(?:mqtts?|wss?):$/.test(url.protocol) || url.hostname === '' || url.hash !== '') {
      throw new Error('it must be the address of a broker such as mqtt://127.0.0.1:1883, with mqtt, mqtts, ws or wss')
    }
    if (![url.username, url.password].every(isDecodable)) {
      throw new Error('a percent sign in the user or the password of the address is written as %25; READYROOM_MQTT_USER and READYROOM_MQTT_PASSWORD take them as they are')
    }
    return url.href
  },
  write: String
})

const topic = (variable: string, fallback: string): Setting<string> => ({
  variable,
  fallback,
  read (text) {
    // What a publisher may not name (MQTT 5.0, 4.7.1, 4.7.2), and what would make a level without a name.
    if (/[+#\p{Cc}]|^\$|^\/|\/\/|\/$/u.test(text.trim()) || Buffer.byteLength(text) > 200) {
      throw new Error('it must be the beginning of a topic such as home/readyroom, at most 200 bytes, without +, #, a $ in front or an empty level')
    }
    return text.trim()
  },
  write: String
})

/** One line a setting: a process that takes over, or is started to, gets every one of them. */
export const EDGE: { readonly [K in keyof Edge]: Setting<Edge[K]> } = {
  allowedHosts: hosts('READYROOM_ALLOWED_HOSTS'),
  dnsRebindProtection: onOff('READYROOM_DNS_REBIND_PROTECTION', true),
  authFailLimit: whole('READYROOM_AUTH_FAIL_LIMIT', 20, 0, 1_000_000),
  authFailWindow: whole('READYROOM_AUTH_FAIL_WINDOW', 300, 1, 86_400),
  maxWaitS: whole('READYROOM_MAX_WAIT_S', 90, 1, 3_600),
  maxFileBytes: whole('READYROOM_MAX_FILE_BYTES', 1_048_576, 1, 67_108_864),
  adminApi: onOff('READYROOM_ADMIN_API', false),
  enableUi: onOff('READYROOM_ENABLE_UI', true),
  consoleLanOnly: onOff('READYROOM_CONSOLE_LAN_ONLY', true),
  prune: onOff('READYROOM_PRUNE', true),
  pruneInterval: whole('READYROOM_PRUNE_INTERVAL', 3_600, 1, 86_400),
  announceUpgrades: onOff('READYROOM_ANNOUNCE_UPGRADES', true),
  publicUrl: address('READYROOM_PUBLIC_URL'),
  publicHosts: hosts('READYROOM_PUBLIC_HOSTS'),
  lanUrl: address('READYROOM_LAN_URL'),
  mqttUrl: broker('READYROOM_MQTT_URL'),
  mqttUser: text('READYROOM_MQTT_USER'),
  mqttPassword: text('READYROOM_MQTT_PASSWORD'),
  mqttPrefix: topic('READYROOM_MQTT_PREFIX', 'readyroom')
}

const SETTINGS = Object.entries(EDGE) as Array<[keyof Edge, Setting<unknown>]>

export const EDGE_VARIABLES: readonly string[] = SETTINGS.map(([, { variable }]) => variable)

export const EDGE_DEFAULTS = Object.fromEntries(SETTINGS.map(([name, { fallback }]) => [name, fallback])) as unknown as Edge

/** A blank value stands for the default. `refuse` makes the error of one that cannot be used. */
export function readEdge (env: Record<string, string | undefined>, refuse: (variable: string, text: string, err: unknown) => Error): Edge {
  const entries = SETTINGS.map(([name, { variable, fallback, read }]) => {
    const text = env[variable] ?? ''
    if (text.trim() === '') return [name, fallback]
    try {
      return [name, read(text)]
    } catch (err) {
      throw refuse(variable, text, err)
    }
  })
  return Object.fromEntries(entries) as Edge
}

/** The variables that say the same again, for a process that is started with these settings. */
export const edgeEnvironment = (edge: Edge): Record<string, string> =>
  Object.fromEntries(SETTINGS.map(([name, { variable, write }]) => [variable, write(edge[name])]))

/** What of the edge must not stand open to whoever comes, as the variables that say so. */
export function exposedBy ({ allowedHosts, publicHosts, publicUrl, dnsRebindProtection }: Edge): string | undefined {
  if (allowedHosts.length > 0) return EDGE.allowedHosts.variable
  if (publicHosts.length > 0) return EDGE.publicHosts.variable
  if (publicUrl !== '') return EDGE.publicUrl.variable
  return dnsRebindProtection ? undefined : EDGE.dnsRebindProtection.variable
}
