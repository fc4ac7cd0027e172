import type { IClientOptions, MqttClient } from 'mqtt'
import type { RoomEvent } from '../../../schemas/room'

/** How many events wait for a broker that is away; then the oldest go. */
const QUEUE = 1_000
/** How old an event may be that a broker still hears of when it is back, in milliseconds: what is older is history, and the room has it. */
const STALE_MS = 5 * 60_000
/** How many events are on their way at a time. */
const IN_FLIGHT = 20
/** How soon a broker that is away is tried again, in milliseconds, and how long it may take to say hello. */
const RECONNECT_MS = 5_000
const CONNECT_MS = 10_000
/** How long a broker may take to hear of our end, in milliseconds. */
const GOODBYE_MS = 1_000

export interface MqttSettings {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`, without credentials. */
  url: string
  user?: string
  password?: string
  /** What every topic begins with. */
  prefix: string
}

export interface MqttBridgeOptions extends MqttSettings {
  log: { info (message: string): void, warn (details: object, message: string): void }
  /** The wall clock, in milliseconds since 1970. */
  now?: (() => number) | undefined
  /** How soon a broker that is away is tried again, in milliseconds. Unset means 5 s. */
  reconnectMs?: number | undefined
}

/**
 * Tells a broker what happens in the rooms, each event to `<prefix>/<room>/<kind>`, as JSON, at least once while the
 * broker is there. The rooms never wait for it: a bounded queue stands between, and what does not fit, or has become old,
 * is counted. `<prefix>/status` is retained and says `online`, or, by a last will, `offline`.
 *
 * It tells what is new. After a restart nothing is told again.
 */
export class MqttBridge {
  readonly #options: MqttBridgeOptions
  readonly #queue: RoomEvent[] = []
  #client: MqttClient | undefined
  #inFlight = 0
  #dropped = 0
  #told = 0
  #isClosed = false
  /** Whether it was said that the broker is away: once an outage, not at every try. */
  #isAway = false

  constructor (options: MqttBridgeOptions) {
    this.#options = options
  }

  /** How many events no broker heard of. */
  get dropped (): number { return this.#dropped }

  /** How many events wait. At most 1,000. */
  get waiting (): number { return this.#queue.length }

  /** Begins to look for the broker. Resolves at once; a broker that is away is no error. */
  async start (): Promise<void> {
    const { url, user, password, reconnectMs = RECONNECT_MS } = this.#options
    const { connect } = (await import('mqtt')).default
    if (this.#isClosed) return
    const client = connect({
      ...placeOf(url),
      ...(user !== undefined && { username: user }),
      ...(password !== undefined && { password }),
      clientId: `readyroom-${crypto.randomUUID().slice(0, 13)}`,
      reconnectPeriod: reconnectMs,
      connectTimeout: CONNECT_MS,
      // A broker that refuses our password may have been told of it a minute later.
      reconnectOnConnackError: true,
      queueQoSZero: false,
      resubscribe: false,
      will: { topic: this.#statusTopic, payload: Buffer.from('offline'), qos: 1, retain: true }
    })
    this.#client = client
    client.on('connect', () => { this.#connected(client) })
    client.on('error', err => { this.#away(err) })
    client.on('close', () => { this.#away() })
  }

  /** Takes an event on its way. Never waits, never throws. */
  publish (event: RoomEvent): void {
    if (this.#isClosed) return
    this.#queue.push(event)
    if (this.#queue.length > QUEUE) {
      this.#queue.shift()
      this.#dropped++
    }
    this.#drain()
  }

  /** Says goodbye where the broker listens. Idempotent; takes a second at most. */
  async close (): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const client = this.#client
    if (client === undefined) return
    if (client.connected) {
      client.publish(this.#statusTopic, 'offline', { qos: 1, retain: true }, () => {})
      // What is on its way is finished with it, where the broker still listens.
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, GOODBYE_MS)
      await Promise.race([client.endAsync(), late])
      clearTimeout(timer)
    }
    await client.endAsync(true)
  }

  get #statusTopic (): string { return `${this.#options.prefix}/status` }

  #connected (client: MqttClient): void {
    this.#isAway = false
    client.publish(this.#statusTopic, 'online', { qos: 1, retain: true }, () => {})
    this.#forgetStale()
    this.#options.log.info(`The MQTT broker is told what happens in the rooms, under ${this.#options.prefix}/`)
    if (this.#dropped > this.#told) {
      this.#options.log.warn({ dropped: this.#dropped - this.#told }, 'The MQTT broker was away, and does not hear of everything that happened meanwhile; the rooms have it')
      this.#told = this.#dropped
    }
    this.#drain()
  }

  /** The oldest are first. */
  #forgetStale (): void {
    const before = (this.#options.now ?? Date.now)() - STALE_MS
    const fresh = this.#queue.findIndex(({ at }) => Date.parse(at) >= before)
    this.#dropped += this.#queue.splice(0, fresh === -1 ? this.#queue.length : fresh).length
  }

  #away (err?: Error): void {
    if (this.#isClosed || this.#isAway) return
    this.#isAway = true
    this.#options.log.warn({ ...(err && { reason: err.message }) }, 'The MQTT broker is away; the rooms go on, and it is tried again')
  }

  #drain (): void {
    const client = this.#client
    // What is published while the broker is away would pile up in the client, without a bound.
    while (client?.connected && this.#inFlight < IN_FLIGHT && this.#queue.length > 0) {
      const event = this.#queue.shift()!
      this.#inFlight++
      client.publish(`${this.#options.prefix}/${event.room}/${event.kind}`, JSON.stringify(event), { qos: 1 }, err => {
        this.#inFlight--
        if (err != null) this.#dropped++
        this.#drain()
      })
    }
  }
}

/** An address in the client's own terms: given as a text, it is taken apart by a function of Node that warns about itself. */
function placeOf (url: string): Pick<IClientOptions, 'protocol' | 'host' | 'port' | 'path' | 'username' | 'password'> {
  const { protocol, hostname, port, pathname, search, username, password } = new URL(url)
  return {
    protocol: protocol.slice(0, -1) as NonNullable<IClientOptions['protocol']>,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port !== '' && { port: Number(port) }),
    ...(protocol.startsWith('ws') && { path: pathname + search }),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) })
  }
}
