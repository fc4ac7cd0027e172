import { ReadyroomError } from './errors'

/** How far the time in a key may be from ours, in milliseconds: it becomes the time in a ticket's id, by which tickets are sorted. */
const APART_MS = 24 * 3_600_000

const encoder = new TextEncoder()

async function digest (words: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', encoder.encode(JSON.stringify(words)))
  return [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

/** The header Idempotency-Key. @throws BAD_REQUEST where it is none */
export function readKey (header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(header)) {
    throw new ReadyroomError('BAD_REQUEST', 'Idempotency-Key must be 1 to 200 printable ASCII characters without spaces, such as a UUID of version 7.')
  }
  return header
}

/** One call of one caller: the same key with other arguments, or of somebody else, is another call. */
export const callKey = (key: string, ...what: unknown[]): Promise<string> => digest([key, ...what])

/**
 * The id of the ticket that a call with this key makes: a UUIDv7 again, its time that of the key, the rest of it made of
 * key and call, so that nobody can name a ticket of somebody else.
 * @throws BAD_REQUEST where the key is no UUIDv7 of about now
 */
export async function ticketIdOf (key: string, now: number, ...what: unknown[]): Promise<string> {
  const [, high = '', low = ''] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.exec(key) ?? []
  if (high === '' || Math.abs(parseInt(high + low, 16) - now) > APART_MS) {
    throw new ReadyroomError('BAD_REQUEST', 'The Idempotency-Key of ask_human must be a UUID of version 7 made within a day of now, as the clock of this server has it.')
  }
  const hex = await digest([key.toLowerCase(), ...what])
  const variant = '89ab'[parseInt(hex[3]!, 16) % 4]!
  return `${high}-${low}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`.toLowerCase()
}
