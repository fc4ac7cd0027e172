import { Worker } from 'node:worker_threads'
import { ReadyroomError } from '../../errors'
import { fromAcross } from '../../room/across'
import type { CallHead, CommandName, InputOf, Outcome, OutputOf, RoomStore } from '../../room/store'
import type { FromThread, ToThread } from './thread'

declare const READYROOM_ROOM_THREAD: string | undefined

/** The thread's script: part of the bundle, so that nothing is read once a process has started; the source where there is none. */
const scriptUrl = (): URL => typeof READYROOM_ROOM_THREAD === 'string'
  ? new URL(`data:text/javascript;base64,${Buffer.from(READYROOM_ROOM_THREAD).toString('base64')}`)
  : new URL('thread.ts', import.meta.url)

const closed = (): ReadyroomError => new ReadyroomError('STORE_UNAVAILABLE', 'The rooms are closed: this process is ending.')

interface Pending { resolve (value: unknown): void, reject (err: unknown): void }

/** Without a callback each message has its number. */
type Unnumbered<T> = T extends { id: number } ? Omit<T, 'id'> : never

/** Rooms in one SQLite file, `room.db`, on a thread of their own. */
export class SqliteRoomStore implements RoomStore {
  readonly #file: string
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #exited = Promise.resolve()
  #last = 0
  #closing: Promise<void> | undefined

  constructor (file: string) {
    this.#file = file
  }

  async open (): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const worker = new Worker(scriptUrl(), { workerData: { file: this.#file }, name: 'readyroom-rooms' })
    this.#worker = worker
    this.#exited = new Promise(resolve => { worker.once('exit', () => { resolve() }) })
    worker.on('message', (message: FromThread) => {
      if ('opened' in message) resolve()
      else if ('failed' in message) reject(new Error(`${this.#file} cannot be opened: ${message.failed}`))
      else this.#settle(message)
    })
    worker.once('error', err => {
      reject(err)
      this.#fail(new ReadyroomError('STORE_UNAVAILABLE', 'The thread that keeps the rooms has ended. Restart Ready Room; what was acknowledged is safe.', { cause: err }))
    })
    worker.once('exit', () => {
      reject(new Error('The thread that keeps the rooms ended while it opened them'))
      this.#worker = undefined
      this.#fail(closed())
    })
    try {
      await promise
    } catch (err) {
      await worker.terminate()
      throw err
    }
  }

  run<N extends CommandName> (name: N, call: CallHead, input: InputOf<N>): Promise<Outcome<OutputOf<N>>> {
    return this.#send<Outcome<OutputOf<N>>>({ name, call, input })
  }

  backup (file: string): Promise<void> {
    return this.#send<void>({ backup: file })
  }

  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close (): Promise<void> {
    if (this.#worker === undefined) return
    await this.#post({ close: true }).catch(() => {})
    await this.#exited
  }

  async #send<T> (message: Unnumbered<ToThread>): Promise<T> {
    if (this.#closing !== undefined) throw closed()
    return await this.#post(message) as T
  }

  #post (message: Unnumbered<ToThread>): Promise<unknown> {
    const worker = this.#worker
    if (worker === undefined) return Promise.reject(closed())
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      worker.postMessage({ id, ...message })
    })
  }

  #settle (message: Extract<FromThread, { id: number }>): void {
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if (pending === undefined) return
    if ('ok' in message) return pending.resolve(message.ok)
    pending.reject(fromAcross(message.error))
  }

  #fail (err: Error): void {
    for (const { reject } of this.#pending.values()) reject(err)
    this.#pending.clear()
  }
}
