import type { StatsFs } from 'node:fs'
import type { Check } from '../../../schemas/doctor'
import type { Place } from '../clients/place'
import type { Config, Flags } from '../config'

/** What the doctor looks at, and from where. Everything that a test must be able to break is in it. */
export interface Scene {
  config: Config
  flags: Flags
  /** Settings that cannot be read, each a sentence; `config` has the defaults for them. */
  faults: string[]
  place: Place
  version: string
  /** Without a leading v. */
  nodeVersion: string
  /** -1 where the system has no users. */
  uid: number
  now: () => number
  statfs: (path: string) => StatsFs
  /** Leaves out what takes a while. */
  quick: boolean
  /** Begins the time for which the chain of the audit log may be checked; aborts when it is over. */
  auditTime: () => AbortSignal
  /** How long anything over HTTP may take, in milliseconds. */
  httpMs: number
  /** An address of a Ready Room to be looked at from outside. */
  url: string | undefined
}

/** Looks at one thing, or at a few that belong together. Changes nothing. */
export type Look = (scene: Scene) => Check[] | Promise<Check[]>

export const ok = (id: string, message: string): Check => ({ id, status: 'ok', message })
export const warn = (id: string, message: string, fix: string): Check => ({ id, status: 'warn', message, fix })
export const fail = (id: string, message: string, fix: string): Check => ({ id, status: 'fail', message, fix })

/** `1 file`, `2 files`. */
export const count = (n: number, noun: string): string => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`

export const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024).toLocaleString('en')} MiB`
