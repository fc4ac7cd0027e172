import { closeSync, fsyncSync, openSync, unlinkSync } from 'node:fs'
import { ReadyroomError } from '../../errors'
import { migrate } from '../../room/migrations'
import { once } from '../../room/once'
import { drive, type SyncSql } from '../../room/steps'
import { COMMANDS, type CallHead, type CommandName, type Outcome } from '../../room/store'
import type { Command } from '../../room/call'
import { errorCode, explainDiskError } from '../disk-error'
import { openDatabase, type Database } from '../sqlite'

/** How many prepared statements are kept. The commands have fewer; lists of ids make a few more. */
const STATEMENTS = 500

export interface Job { name: CommandName, call: CallHead, input: unknown }
export type JobOutcome = { ok: Outcome<unknown> } | { error: unknown }

type Value = null | number | bigint | string | Uint8Array

function sqlOf (database: Database): SyncSql {
  const prepared = new Map<string, ReturnType<Database['prepare']>>()
  return {
    all (sql, parameters) {
      let statement = prepared.get(sql)
      if (statement === undefined) {
        if (prepared.size >= STATEMENTS) prepared.clear()
        statement = database.prepare(sql)
        prepared.set(sql, statement)
      }
      return statement.all(...parameters as Value[])
    }
  }
}

function unwritten (file: string, err: unknown): ReadyroomError {
  const { what, remedy } = explainDiskError(err)
  return new ReadyroomError('STORE_UNAVAILABLE', `The backup ${file} could not be written: ${what}. ${remedy}, or name another file.`, { cause: err })
}

/**
 * The database of the rooms, in the thread that calls. Jobs that come together are one transaction and one sync: each is
 * a savepoint of its own in it, so that one that is refused takes nothing with it.
 */
export class RoomEngine {
  readonly #database: Database
  readonly #sql: SyncSql

  /** @throws Error where the file cannot be opened, or was written by a newer release. */
  constructor (file: string) {
    this.#database = openDatabase(file)
    this.#sql = sqlOf(this.#database)
    try {
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF')
      this.#transaction(() => migrate(this.#sql))
    } catch (err) {
      this.#database.close()
      throw err
    }
  }

  /** Runs jobs in order and says of each what came of it, when all of it is durable. Never throws. */
  runAll (jobs: readonly Job[]): JobOutcome[] {
    try {
      return this.#transaction(() => jobs.map(job => this.#run(job)))
    } catch (err) {
      const error = new ReadyroomError('STORE_UNAVAILABLE',
        'The database of the rooms could not save this, and nothing of it was saved. Check the disk of the state folder; then try again.', { cause: err })
      return jobs.map(() => ({ error }))
    }
  }

  /** @throws BAD_REQUEST where the file is there already. @throws STORE_UNAVAILABLE where it cannot be written; then nothing is left of it. */
  backup (file: string): void {
    let fd: number
    try {
      // SQLite writes into a file that is there only where it is empty; it is its owner's alone from the first byte on.
      fd = openSync(file, 'wx', 0o600)
    } catch (err) {
      if (errorCode(err) === 'EEXIST') throw new ReadyroomError('BAD_REQUEST', `${file} is there already, and a backup overwrites nothing. Name another file.`)
      throw unwritten(file, err)
    }
    try {
      this.#database.prepare('VACUUM INTO ?').run(file)
      fsyncSync(fd)
    } catch (err) {
      unlinkSync(file)
      throw unwritten(file, err)
    } finally {
      closeSync(fd)
    }
  }

  close (): void {
    this.#database.close()
  }

  #run ({ name, call, input }: Job): JobOutcome {
    const events: Outcome<unknown>['events'] = []
    const command = COMMANDS[name] as Command<unknown, unknown>
    this.#database.exec('SAVEPOINT job')
    try {
      const result = drive(this.#sql, once(command, { ...call, events }, input, call.key))
      this.#database.exec('RELEASE job')
      return { ok: { result, events } }
    } catch (err) {
      // A disk that is full ends the whole transaction by itself; then every job of it has failed.
      if (!this.#database.isTransaction) throw err
      this.#database.exec('ROLLBACK TO job; RELEASE job')
      return { error: err }
    }
  }

  #transaction<T> (run: () => T): T {
    this.#database.exec('BEGIN')
    try {
      const result = run()
      this.#database.exec('COMMIT')
      return result
    } catch (err) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw err
    }
  }
}
