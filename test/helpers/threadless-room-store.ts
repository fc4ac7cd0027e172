import { RoomEngine } from '../../lib/node/room/engine'
import type { CallHead, CommandName, InputOf, Outcome, OutputOf, RoomStore } from '../../lib/room/store'

/** The rooms' database in the thread that calls: for what is not about the thread, and has to be opened often. */
export class ThreadlessRoomStore implements RoomStore {
  readonly #file: string
  #engine: RoomEngine | undefined

  constructor (file: string) {
    this.#file = file
  }

  async open (): Promise<void> { this.#engine = new RoomEngine(this.#file) }

  async run<N extends CommandName> (name: N, call: CallHead, input: InputOf<N>): Promise<Outcome<OutputOf<N>>> {
    if (this.#engine === undefined) throw new Error('The rooms are closed')
    const [outcome] = this.#engine.runAll([{ name, call, input }])
    if ('error' in outcome!) throw outcome.error
    return outcome!.ok as Outcome<OutputOf<N>>
  }

  async backup (file: string): Promise<void> { this.#engine!.backup(file) }

  async close (): Promise<void> {
    this.#engine?.close()
    this.#engine = undefined
  }
}
