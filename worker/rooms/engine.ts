import { toAcross, type ErrorAcross } from '../../lib/room/across'
import type { Command } from '../../lib/room/call'
import { ReadyroomError } from '../../lib/errors'
import { migrate } from '../../lib/room/migrations'
import { once } from '../../lib/room/once'
import { drive, type Steps, type SyncSql } from '../../lib/room/steps'
import type { CallHead, Outcome } from '../../lib/room/store'
import { syncSql, type RoomStorage } from './sql'

/** What an object answers: an error that is thrown across would arrive without its code. */
export type Answer<T> = { ok: T } | { error: ErrorAcross }

/**
 * The tables of a room, or of the registry, in one Durable Object. A command is one transaction, without an `await` in it,
 * and the output gate holds its answer back until it is durable.
 *
 * Tables are made with the first thing that is kept: whoever asks for a room that is not there leaves nothing behind.
 */
export class ObjectEngine {
  readonly #storage: RoomStorage
  readonly #sql: SyncSql
  #isThere = false

  constructor (storage: RoomStorage) {
    this.#storage = storage
    this.#sql = syncSql(storage)
  }

  /** Whether there are tables, of this release's version by now. @throws STORE_UNAVAILABLE where a newer release has written them. */
  get isThere (): boolean {
    if (this.#isThere) return true
    if (this.#sql.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'", []).length === 0) return false
    this.make()
    return true
  }

  /** Makes the tables, or brings them to this release's version. */
  make (): void {
    if (this.#isThere) return
    this.#storing(() => { this.#storage.transactionSync(() => { migrate(this.#sql) }) })
    this.#isThere = true
  }

  /** After everything was deleted. */
  forget (): void { this.#isThere = false }

  /** Runs a command. @throws what it throws; then nothing of it is there. */
  run<Input, Output> (command: Command<Input, Output>, call: CallHead, input: Input): Outcome<Output> {
    const events: Outcome<Output>['events'] = []
    return this.transaction(() => ({ result: this.drive(once(command, { ...call, events }, input, call.key)), events }))
  }

  /** Steps within a transaction. */
  drive<T> (steps: Steps<T>): T { return drive(this.#sql, steps) }

  /** @throws STORE_UNAVAILABLE when the storage refuses. */
  transaction<T> (run: () => T): T {
    return this.#storing(() => this.#storage.transactionSync(run))
  }

  #storing<T> (run: () => T): T {
    try {
      return run()
    } catch (err) {
      // A mistake of ours is no failure of the storage.
      if (err instanceof ReadyroomError || err instanceof TypeError) throw err
      throw new ReadyroomError('STORE_UNAVAILABLE', 'The storage of the rooms refused this, and nothing of it was saved. Try again in a moment.', { cause: err })
    }
  }
}

/** What came of it, in a form that can cross to another object. */
export async function answering<T> (run: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: await run() }
  } catch (err) {
    return { error: toAcross(err) }
  }
}
