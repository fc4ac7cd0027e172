// A server for benchmarks: the product's own app on a file store, on a disk of one's choice, in a process of its own.
// It prints its port, and its memory whenever a line comes in; it ends with its standard input.
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { buildApp } from '../app'
import { FileTicketStore } from '../lib/node/file-store'
import { openRooms } from '../lib/node/room/open-rooms'
import { disks, type DiskName } from './disks'

const [dir, disk = 'real'] = process.argv.slice(2)
const instance = randomUUID()
const rooms = await openRooms(dir!)
const app = await buildApp({
  rooms,
  store: new FileTicketStore({ dir: dir!, instance, io: disks[disk as DiskName] }),
  version: '0.0.0',
  instance,
  port: 0,
  allowedOrigins: [],
  originPolicy: 'strict',
  trustProxy: false,
  frameAncestors: [],
  metrics: false
})
await app.listen({ port: 0, host: '127.0.0.1' })
const say = (what: object): void => { process.stdout.write(`${JSON.stringify(what)}\n`) }
say({ port: (app.server.address() as { port: number }).port })

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'memory') {
    global.gc?.()
    const { rss, heapUsed } = process.memoryUsage()
    say({ rss, heapUsed })
  }
}
await app.close()
await rooms.close()
