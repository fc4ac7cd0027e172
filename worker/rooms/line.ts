import { ReadyroomError } from '../../lib/errors'
import { fromAcross } from '../../lib/room/across'
import type { Answer } from './engine'

const unreachable = (err: unknown): ReadyroomError => new ReadyroomError('STORE_UNAVAILABLE',
  'The room could not be reached, or was restarted in mid-call. Read it to see whether a change was saved, and try again in a moment.', { cause: err })

/** Keeps a stub, so that what is sent through it arrives in order, until a call through it fails. */
export class Line<Stub> {
  readonly #connect: () => Stub
  #stub: Stub | undefined

  constructor (connect: () => Stub) {
    this.#connect = connect
  }

  /** @throws what the other side answers. @throws STORE_UNAVAILABLE where it does not. */
  async call<T> (send: (stub: Stub) => Promise<Answer<T>>): Promise<T> {
    this.#stub ??= this.#connect()
    let answer: Answer<T>
    try {
      answer = await send(this.#stub)
    } catch (err) {
      this.#stub = undefined
      throw unreachable(err)
    }
    if ('error' in answer) throw fromAcross(answer.error)
    return answer.ok
  }
}
