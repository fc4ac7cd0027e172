// What no server on this machine can go below: one loopback round trip, and one with a write and a sync in it.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { realDisk } from '../lib/node/disk'
import { createCaller, latencies } from './harness'
import { withFolder } from './samples'

const LINE = Buffer.from(`${'x'.repeat(699)}\n`)

/** A POST to a server that does nothing but `work` and answer, in milliseconds. */
async function postTo (work: () => Promise<void>, count: number): Promise<number[]> {
  const server = createServer((req, res) => {
    req.resume().on('end', () => { work().then(() => { res.end('{}') }, err => { res.destroy(err as Error) }) })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const caller = createCaller((server.address() as AddressInfo).port, 1)
  await latencies(100, () => caller.post('/', {}))
  const samples = await latencies(count, () => caller.post('/', {}))
  caller.close()
  server.close()
  return samples
}

export const roundTrips = (count = 500): Promise<number[]> => postTo(async () => {}, count)

/** A round trip whose answer waits for a line of 700 bytes to be durable. */
export const durableRoundTrips = (count = 500): Promise<number[]> => withFolder(async dir => {
  const file = await realDisk.open(join(dir, 'plain.jsonl'), 'create')
  let end = 0
  try {
    return await postTo(async () => {
      await file.write(LINE, end)
      await file.sync()
      end += LINE.length
    }, count)
  } finally {
    await file.close()
  }
})
