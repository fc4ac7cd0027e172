import type { DatabaseSync } from 'node:sqlite'

let sqlite: typeof import('node:sqlite') | undefined

/**
 * node:sqlite, loaded when first needed. Node 22 then prints a warning that it is experimental, into the standard error
 * of every agent; that one warning is held back, every other one passes.
 */
function load (): typeof import('node:sqlite') {
  if (sqlite !== undefined) return sqlite
  const emitWarning = process.emitWarning
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    sqlite = process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
  return sqlite
}

export type { DatabaseSync as Database }

/** Opens a database; a lock that somebody else holds is an error at once, never waited for. */
export function openDatabase (path: string): DatabaseSync {
  return new (load().DatabaseSync)(path, { timeout: 0 })
}

/** The primary result code of SQLite behind an error, or undefined for any other error. */
export function sqliteCode (err: unknown): number | undefined {
  const code = (err as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}
