import { ReadyroomError } from '../../lib/errors'
import type { CallHead, CommandName, InputOf, Outcome, OutputOf, RoomStore } from '../../lib/room/store'

/** A store of rooms that a test makes fail, or slow, command by command. */
export class TryingRoomStore implements RoomStore {
  readonly #store: RoomStore
  readonly #failing = new Map<CommandName, number>()
  readonly #held = new Map<CommandName, { reached: () => void, go: Promise<void> }>()
  opened = 0

  constructor (store: RoomStore) {
    this.#store = store
  }

  open (): Promise<void> {
    this.opened++
    return this.#store.open()
  }

  async run<N extends CommandName> (name: N, call: CallHead, input: InputOf<N>): Promise<Outcome<OutputOf<N>>> {
    const left = this.#failing.get(name) ?? 0
    if (left > 0) {
      this.#failing.set(name, left - 1)
      throw new ReadyroomError('STORE_UNAVAILABLE', 'The disk is full, says the test.')
    }
    const outcome = await this.#store.run(name, call, input)
    const held = this.#held.get(name)
    if (held !== undefined) {
      this.#held.delete(name)
      held.reached()
      await held.go
    }
    return outcome
  }

  /** The next so many commands of this name cannot be saved. */
  fail (name: CommandName, times: number): void { this.#failing.set(name, times) }

  /** Keeps the next result of this name back: resolves when there is one, with how to let it go. */
  hold (name: CommandName): Promise<() => void> {
    const { promise: go, resolve: release } = Promise.withResolvers<void>()
    return new Promise(resolve => { this.#held.set(name, { reached: () => { resolve(release) }, go }) })
  }

  backup (file: string): Promise<void> { return this.#store.backup(file) }

  close (): Promise<void> { return this.#store.close() }
}
