import { pino, stdTimeFunctions, type Logger } from 'pino'
import { prettyFactory } from 'pino-pretty'

/** As much of a logger as the store needs; pino's is one. */
export interface Log {
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}

export const silentLog: Log = { info () {}, warn () {}, error () {} }

/** How much may wait for a reader of the log that does not read, in bytes. What comes after it is dropped. */
const MAX_WAITING = 1_048_576

const SECRETS = ['token', 'secret', 'authorization', 'headers.authorization', 'cookie', 'headers.cookie']

export interface LogOptions {
  /** What must never be seen in a line, wherever in it. */
  token?: string | undefined
  /** Where lines go. */
  to?: NodeJS.WritableStream & { writableLength?: number, isTTY?: boolean, hasColors?: () => boolean }
}

/**
 * The log, on standard error: readable on a terminal, one JSON object a line for everybody else. Lines pass through the
 * process's own stream and no worker thread, so that they are out in time when it ends, and so that a reader who has
 * gone, or who never reads, holds up nothing.
 */
export function createLog ({ token, to = process.stderr }: LogOptions = {}): Logger {
  const readable = to.isTTY ? prettyFactory({ colorize: to.hasColors?.() ?? false, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' }) : String
  // In a line a token stands as JSON writes it. A shorter one could be any word.
  const unseen = token !== undefined && token.length >= 4 ? JSON.stringify(token).slice(1, -1) : undefined
  return pino({
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    redact: [...SECRETS, ...SECRETS.map(path => `*.${path}`)]
  }, {
    write (line: string) {
      if ((to.writableLength ?? 0) > MAX_WAITING) return
      to.write(readable(unseen === undefined ? line : line.replaceAll(unseen, '[token]')))
    }
  })
}
