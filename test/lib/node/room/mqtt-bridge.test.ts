import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { MqttBridge, type MqttBridgeOptions } from '../../../../lib/node/room/mqtt-bridge'
import type { RoomEvent } from '../../../../schemas/room'
import { startBroker } from '../../../helpers/broker'

const NOW = Date.parse('2026-05-01T10:00:00.000Z')
const silent = { info () {}, warn () {} }

const event = (id: number, at = NOW): RoomEvent =>
  ({ id, at: new Date(at).toISOString(), room: 'ops', actor: 'ann', actor_kind: 'agent', kind: 'message_posted', message_id: id, body: `message ${id}` })

async function startBridge (t: Test, options: Partial<MqttBridgeOptions> & { url: string }): Promise<MqttBridge> {
  const bridge = new MqttBridge({ prefix: 'rr', log: silent, now: () => NOW, reconnectMs: 50, ...options })
  t.teardown(() => bridge.close())
  await bridge.start()
  return bridge
}

async function until (t: Test, condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > end) {
      t.fail(`never came: ${what}`)
      return
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const urlOf = (port: number): string => `mqtt://127.0.0.1:${port}`

t.test('each event goes to the topic of its room and kind, as JSON, in order, and is not retained', async t => {
  const broker = await startBroker(t)
  const bridge = await startBridge(t, { url: urlOf(broker.port) })
  for (let id = 1; id <= 100; id++) bridge.publish(event(id))
  await until(t, () => broker.events().length === 100, 'a hundred events')
  t.strictSame(broker.events().map(({ text }) => JSON.parse(text) as RoomEvent), Array.from({ length: 100 }, (_, at) => event(at + 1)))
  t.strictSame(broker.events()[0], { topic: 'rr/ops/message_posted', text: JSON.stringify(event(1)), retain: false })
  t.equal(bridge.dropped, 0)
})

t.test('a retained status says online; it says offline when Ready Room ends, and by the last will when it is cut off', async t => {
  const broker = await startBroker(t)
  const status = () => broker.heard.filter(({ topic }) => topic === 'rr/status')
  const first = await startBridge(t, { url: urlOf(broker.port) })
  await until(t, () => status().length === 1, 'online')
  await first.close()
  t.strictSame(status(), [{ topic: 'rr/status', text: 'online', retain: true }, { topic: 'rr/status', text: 'offline', retain: true }])
  await startBridge(t, { url: urlOf(broker.port), reconnectMs: 60_000 })
  await until(t, () => status().length === 3, 'online again')
  broker.cut()
  await until(t, () => status().length === 4, 'the last will')
  t.strictSame(status()[3], { topic: 'rr/status', text: 'offline', retain: true })
})

t.test('a broker that was away hears of the newest 1,000 events when it is back, and what it missed is counted', async t => {
  const broker = await startBroker(t)
  const warnings: object[] = []
  const bridge = await startBridge(t, { url: urlOf(broker.port), log: { ...silent, warn: details => { warnings.push(details) } } })
  await until(t, () => broker.heard.length === 1, 'online')
  await broker.stop()
  await until(t, () => warnings.length === 1, 'the sentence that it is away')
  for (let id = 1; id <= 1_200; id++) bridge.publish(event(id))
  t.equal(bridge.waiting, 1_000)
  t.equal(bridge.dropped, 200)
  const again = await startBroker(t, { port: broker.port })
  await until(t, () => again.events().length === 1_000, 'a thousand events')
  t.equal((JSON.parse(again.events()[0]!.text) as RoomEvent).id, 201)
  t.strictSame(warnings.at(-1), { dropped: 200 })
  t.equal(warnings.length, 2, 'an outage is said once, not at every try')
})

t.test('a broker that was away for an hour does not hear of what is long over', async t => {
  const broker = await startBroker(t)
  await broker.stop()
  const bridge = await startBridge(t, { url: urlOf(broker.port) })
  bridge.publish(event(1, NOW - 3_600_000))
  bridge.publish(event(2, NOW - 1_000))
  const again = await startBroker(t, { port: broker.port })
  await until(t, () => again.events().length === 1, 'the one that is fresh')
  t.equal((JSON.parse(again.events()[0]!.text) as RoomEvent).id, 2)
  t.equal(bridge.dropped, 1)
})

t.test('a broker that takes nothing slows nobody: 20 are on their way, 1,000 wait, the rest is counted', async t => {
  const broker = await startBroker(t)
  // Between the two stands one that stops reading once they know each other.
  const held: Socket[] = []
  const proxy = createServer(socket => {
    held.push(socket)
    const onward = connect(broker.port, '127.0.0.1')
    held.push(onward)
    onward.on('error', () => {})
    socket.on('error', () => {})
    socket.once('data', data => { onward.write(data); socket.pause() })
    onward.pipe(socket)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const socket of held) socket.destroy()
    proxy.close()
  })
  let isHere = false
  const bridge = await startBridge(t, { url: urlOf((proxy.address() as AddressInfo).port), log: { ...silent, info () { isHere = true } } })
  await until(t, () => isHere, 'the broker says hello')
  const start = performance.now()
  for (let id = 1; id <= 5_000; id++) bridge.publish(event(id))
  t.ok(performance.now() - start < 5_000)
  t.equal(bridge.waiting, 1_000)
  t.equal(bridge.dropped, 5_000 - 1_020)
  const end = performance.now()
  await bridge.close()
  t.ok(performance.now() - end < 5_000, 'it does not wait for its goodbye to be heard')
})

/** A broker that greets, answers pings, and never says that it has an event. `heard` counts what was published. */
async function startDeafBroker (t: Test): Promise<{ port: number, heard: () => number, stop: () => Promise<void> }> {
  const sockets = new Set<Socket>()
  let heard = 0
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', data => {
      for (let at = 0; at < data.length;) {
        const type = data[at]! >> 4
        if (type === 1) socket.write(Buffer.from([0x20, 2, 0, 0]))
        if (type === 12) socket.write(Buffer.from([0xd0, 0]))
        if (type === 3 && (data[at]! & 1) === 0) heard++
        let length = 0
        let unit = 1
        do {
          at++
          length += (data[at]! & 127) * unit
          unit *= 128
        } while ((data[at]! & 128) !== 0)
        at += 1 + length
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    if (server.listening) await new Promise<void>(resolve => { server.close(() => { resolve() }) })
  }
  t.teardown(stop)
  return { port: (server.address() as AddressInfo).port, heard: () => heard, stop }
}

t.test('a broker that is there and acknowledges nothing is said, and at the end how much it did not hear of', async t => {
  const broker = await startDeafBroker(t)
  const warnings: Array<[details: object, message: string]> = []
  let isHere = false
  const log = { info () { isHere = true }, warn (details: object, message: string) { warnings.push([details, message]) } }
  const bridge = await startBridge(t, { url: urlOf(broker.port), log })
  await until(t, () => isHere, 'the broker says hello')
  for (let id = 1; id <= 1_100; id++) bridge.publish(event(id))
  t.match(warnings, [[{ waiting: 1_000 }, /does not keep up/]])
  t.equal(warnings.length, 1, 'once')
  await bridge.close()
  t.match(warnings[1], [{ dropped: 1_100 }, /before the end/])
})

t.test('what a broker has not acknowledged when it goes away waits with the rest, and is history an hour later', async t => {
  const deaf = await startDeafBroker(t)
  let now = NOW
  const bridge = await startBridge(t, { url: urlOf(deaf.port), now: () => now })
  for (let id = 1; id <= 30; id++) bridge.publish(event(id))
  await until(t, () => deaf.heard() >= 20, 'twenty on their way')
  await deaf.stop()
  await until(t, () => bridge.waiting === 30, 'all of them wait again')
  now += 3_600_000
  bridge.publish(event(31, now))
  const broker = await startBroker(t, { port: deaf.port })
  await until(t, () => broker.events().length === 1, 'the one that is fresh')
  t.equal((JSON.parse(broker.events()[0]!.text) as RoomEvent).id, 31)
  t.equal(bridge.dropped, 30)
})

t.test('a connection that breaks in a flood costs no event that is fresh, and each comes in its order', async t => {
  const broker = await startBroker(t)
  const bridge = await startBridge(t, { url: urlOf(broker.port) })
  for (let id = 1; id <= 900; id++) {
    bridge.publish(event(id))
    if (id % 300 === 0) {
      const known = broker.events().length
      await until(t, () => broker.events().length > known, 'some of it')
      broker.cut()
    }
  }
  const ids = (): number[] => [...new Set(broker.events().map(({ text }) => (JSON.parse(text) as RoomEvent).id))]
  await until(t, () => ids().length === 900, 'all of it')
  t.strictSame(ids(), Array.from({ length: 900 }, (_, at) => at + 1))
  t.equal(bridge.dropped, 0)
})

t.test('the last will of a Ready Room that was cut off does not outlive the word of the next', async t => {
  const broker = await startBroker(t)
  const status = () => broker.heard.filter(({ topic }) => topic === 'rr/status').map(({ text }) => text)
  const { connectAsync } = (await import('mqtt')).default
  const other = await connectAsync(urlOf(broker.port))
  await startBridge(t, { url: urlOf(broker.port), onceMoreMs: 2_000 })
  await until(t, () => status().length === 1, 'online')
  // What a broker says of the one before when it notices: a minute and a half later, where the network was cut.
  await other.publishAsync('rr/status', 'offline', { retain: true, qos: 1 })
  await other.endAsync()
  await until(t, () => status().at(-1) === 'online', 'online, once more')
})

t.test('user and password are shown to the broker, and one that refuses them is tried again', async t => {
  const seen: Array<[string | undefined, string | undefined]> = []
  const broker = await startBroker(t, {
    authenticate: (_client, user, password, done) => {
      seen.push([user, password?.toString()])
      done(null, seen.length > 1)
    }
  })
  const bridge = await startBridge(t, { url: urlOf(broker.port), user: 'ready', password: 'secret-word' })
  bridge.publish(event(1))
  await until(t, () => broker.events().length === 1, 'the event')
  t.strictSame(seen, [['ready', 'secret-word'], ['ready', 'secret-word']])
})

t.test('an address may hold user and password, and nothing of Node warns about how it is read', async t => {
  const warned: Error[] = []
  const hear = (warning: Error): void => { warned.push(warning) }
  process.on('warning', hear)
  t.teardown(() => process.off('warning', hear))
  const seen: Array<[string | undefined, string | undefined]> = []
  const broker = await startBroker(t, {
    authenticate: (_client, user, password, done) => {
      seen.push([user, password?.toString()])
      done(null, true)
    }
  })
  const bridge = await startBridge(t, { url: `mqtt://re%40dy:a%2Fword@127.0.0.1:${broker.port}` })
  bridge.publish(event(1))
  await until(t, () => broker.events().length === 1, 'the event')
  t.strictSame(seen, [['re@dy', 'a/word']])
  t.strictSame(warned, [])
})
