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
/** How often the broker is shown that we are there, in seconds. After one and a half times that it takes us for gone (MQTT 3.1.1, 3.1.2.10). */
const KEEPALIVE_S = 60
/** By when a broker has buried whoever was here before us, and said so, in milliseconds. */
const BURIED_MS = KEEPALIVE_S * 1_500 + 10_000

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
  /** When it is said once more that we are online, in milliseconds. Unset means 100 s. */
  onceMoreMs?: number | undefined
}

/** An event on its way, and the number that the client gave it. */
interface Flight { event: RoomEvent, id?: number }

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
  readonly #flights = new Set<Flight>()
  #client: MqttClient | undefined
  #dropped = 0
  #told = 0
  #isClosed = false
  #isConnected = false
  /** Whether it was said that the broker does not keep up: once, until it does. */
  #isBehind = false
  #onceMore: ReturnType<typeof setTimeout> | undefined
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
      keepalive: KEEPALIVE_S,
      // A broker that refuses our password may have been told of it a minute later.
      reconnectOnConnackError: true,
      queueQoSZero: false,
      resubscribe: false,
      will: { topic: this.#statusTopic, payload: Buffer.from('offline'), qos: 1, retain: true }
    })
    this.#client = client
    client.on('connect', () => { this.#connected(client) })
    client.on('error', err => { this.#away(err) })
    client.on('close', () => {
      this.#takeBack(client)
      this.#away()
    })
  }

  /** Takes an event on its way. Never waits, never throws. */
  publish (event: RoomEvent): void {
    if (this.#isClosed) return
    this.#queue.push(event)
    this.#drain()
    if (this.#trim() > 0 && this.#isConnected && !this.#isBehind) {
      this.#isBehind = true
      this.#options.log.warn({ waiting: this.#queue.length }, 'The MQTT broker does not keep up: the oldest of what waits for it goes, and is counted; the rooms have it')
    }
  }

  /** Says goodbye where the broker listens, and what it does not hear of any more. Idempotent; takes a second at most. */
  async close (): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#onceMore)
    const client = this.#client
    if (client !== undefined) {
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
    this.#dropped += this.#queue.length + this.#flights.size
    this.#queue.length = 0
    this.#flights.clear()
    this.#tellDropped('The MQTT broker does not hear of everything that happened before the end; the rooms have it')
  }

  get #statusTopic (): string { return `${this.#options.prefix}/status` }

  #connected (client: MqttClient): void {
    this.#isAway = false
    this.#isConnected = true
    const online = (): void => { client.publish(this.#statusTopic, 'online', { qos: 1, retain: true }, () => {}) }
    online()
    // Whoever was cut off here before us may still be buried, and its last will would be the last word.
    clearTimeout(this.#onceMore)
    this.#onceMore = setTimeout(() => { if (this.#isConnected) online() }, this.#options.onceMoreMs ?? BURIED_MS).unref()
    this.#options.log.info(`The MQTT broker is told what happens in the rooms, under ${this.#options.prefix}/`)
    this.#drain()
    this.#tellDropped('The MQTT broker was away, and does not hear of everything that happened meanwhile; the rooms have it')
  }

  #tellDropped (message: string): void {
    if (this.#dropped > this.#told) this.#options.log.warn({ dropped: this.#dropped - this.#told }, message)
    this.#told = this.#dropped
  }

  /** What had no reply waits again, with the rest: the client would send it whenever the broker is back, old or not. */
  #takeBack (client: MqttClient): void {
    this.#isConnected = false
    const flights = [...this.#flights]
    this.#flights.clear()
    for (const { id } of flights) if (id !== undefined) client.removeOutgoingMessage(id)
    this.#queue.unshift(...flights.map(({ event }) => event))
    this.#trim()
  }

  /** The oldest are first. Returns how many went. */
  #trim (): number {
    const excess = Math.max(0, this.#queue.length - QUEUE)
    this.#queue.splice(0, excess)
    this.#dropped += excess
    return excess
  }

  #away (err?: Error): void {
    if (this.#isClosed || this.#isAway) return
    this.#isAway = true
    this.#options.log.warn({ ...(err && { reason: err.message }) }, 'The MQTT broker is away; the rooms go on, and it is tried again')
  }

  #drain (): void {
    const client = this.#client
    if (client === undefined) return
    const before = (this.#options.now ?? Date.now)() - STALE_MS
    // What is published while the broker is away would pile up in the client, without a bound.
    while (this.#isConnected && client.connected && this.#flights.size < IN_FLIGHT && this.#queue.length > 0) {
      const event = this.#queue.shift()!
      if (Date.parse(event.at) < before) this.#dropped++
      else this.#send(client, event)
    }
    if (this.#isBehind && this.#queue.length === 0) {
      this.#isBehind = false
      this.#tellDropped('The MQTT broker keeps up again, and does not hear of what went meanwhile; the rooms have it')
    }
  }

  #send (client: MqttClient, event: RoomEvent): void {
    const flight: Flight = { event }
    this.#flights.add(flight)
    client.publish(`${this.#options.prefix}/${event.room}/${event.kind}`, JSON.stringify(event), { qos: 1 }, err => {
      // Taken back, it is on its way no more.
      if (!this.#flights.delete(flight)) return
      if (err != null) this.#dropped++
      if (!this.#isClosed) this.#drain()
    })
    flight.id = client.getLastMessageId()
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
