// The thread that has the database of the rooms: whatever it costs there, no decision waits for it.
import { parentPort, workerData } from 'node:worker_threads'
import { toAcross, type ErrorAcross } from '../../room/across'
import { RoomEngine, type Job } from './engine'

export type ToThread = ({ id: number } & Job) | { id: number, backup: string } | { id: number, close: true }

export type FromThread = { id: number, ok: unknown } | { id: number, error: ErrorAcross } | { opened: true } | { failed: string }

const port = parentPort
if (port !== null) {
  const say = (message: FromThread): void => { port.postMessage(message) }
  let waiting: ToThread[] = []

  const work = (engine: RoomEngine): void => {
    const batch = waiting
    waiting = []
    for (let at = 0; at < batch.length;) {
      const jobs: Array<{ id: number } & Job> = []
      for (let next = batch[at]; next !== undefined && 'name' in next; next = batch[++at]) jobs.push(next)
      engine.runAll(jobs).forEach((outcome, index) => {
        const { id } = jobs[index]!
        say('ok' in outcome ? { id, ok: outcome.ok } : { id, error: toAcross(outcome.error) })
      })
      const other = batch[at++]
      if (other === undefined) break
      try {
        if ('backup' in other) engine.backup(other.backup)
        if ('close' in other) {
          engine.close()
          port.close()
        }
        say({ id: other.id, ok: null })
      } catch (err) {
        say({ id: other.id, error: toAcross(err) })
      }
    }
  }

  try {
    const engine = new RoomEngine((workerData as { file: string }).file)
    port.on('message', (message: ToThread) => {
      // What has come by the end of this turn is one batch.
      if (waiting.length === 0) setImmediate(() => { work(engine) })
      waiting.push(message)
    })
    say({ opened: true })
  } catch (err) {
    say({ failed: (err as Error).message })
  }
}
