import type { Logger } from 'pino'
import { buildApp } from './app'
import type { Edge } from './lib/node/edge-settings'
import type { OpenDaemon, OpenDaemonContext } from './lib/node/election'
import { FileTicketStore } from './lib/node/file-store'
import { openRooms } from './lib/node/room/open-rooms'
import type { RoomDesk } from './lib/room/desk'

export interface ServerOptions { version: string, log: Logger }

/**
 * How this process becomes the daemon: the app on the file store, listening. Whoever gives the lock of the folder gets
 * it back with `close`, or with the error when the queue cannot be loaded or the port cannot be had; nothing is left
 * open then.
 */
export function daemonOpener ({ version, log }: ServerOptions): (context: OpenDaemonContext) => Promise<OpenDaemon> {
  // Where it listens is said once, by whoever starts it, and in words.
  const logger = log.child({}, { level: 'warn' })

  return async function openDaemon ({ config, lock, instance, internal }) {
    const { token, port, bind, allowedOrigins, originPolicy, trustProxy, frameAncestors, metrics, edge, tools } = config
    const store = new FileTicketStore({ dir: lock.dir, instance, lock, log })
    const rooms = await openRooms(lock.dir, { maxWaitMs: edge.maxWaitS * 1_000, maxFileBytes: edge.maxFileBytes, adminApi: edge.adminApi })
    const guards = { token, allowedOrigins, originPolicy, trustProxy, frameAncestors, edge }
    const app = await buildApp({ store, rooms, version, instance, port, ...guards, tools, metrics, internal, logger }).catch(async err => {
      await rooms.close()
      throw err
    })
    try {
      await app.listen({ host: bind, port, exclusive: true })
    } catch (err) {
      await app.close()
      throw err
    }
    const stopTelling = edge.mqttUrl === '' ? undefined : await tellBroker(rooms, edge, log)
    const { desk, presence, doors } = app.readyroom
    const close = async (): Promise<void> => {
      await app.close()
      await stopTelling?.()
    }
    return { port, desk, presence, ...(doors && { doors }), isLogDeleted: () => store.isDeleted(), close }
  }
}

/** Tells a broker what happens in the rooms. Returns how to stop. */
async function tellBroker (rooms: RoomDesk, edge: Edge, log: Logger): Promise<() => Promise<void>> {
  const { mqttUrl: url, mqttUser: user, mqttPassword: password, mqttPrefix: prefix } = edge
  // Loaded when it is wanted: most have no broker.
  const { MqttBridge } = await import('./lib/node/room/mqtt-bridge')
  const bridge = new MqttBridge({ url, prefix, log, ...(user !== '' && { user }), ...(password !== '' && { password }) })
  const stop = rooms.feed.overhear(event => { bridge.publish(event) })
  await bridge.start()
  return async () => {
    stop()
    await bridge.close()
  }
}
