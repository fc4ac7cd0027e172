import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

// What a daemon and its clients prove to each other. Both read the secret in daemon.json, which only their user can;
// the secret itself is never sent. Each purpose has a key of its own, so that nothing made for one passes for another.

export const newSecret = (): string => randomBytes(32).toString('hex')

export const newNonce = (): string => randomBytes(24).toString('base64url')

const keyed = (secret: string, purpose: string, ...parts: Array<string | number>): string =>
  createHmac('sha256', secret).update(JSON.stringify(['readyroom', purpose, ...parts])).digest('hex')

/** Whether two texts are equal, in a time that tells nothing about where they differ. */
export function equalProofs (a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** What the holder of a port answers to a nonce: it knows the secret, and means this instance on this port. */
export const proofOf = (secret: string, nonce: string, instance: string, port: number): string =>
  keyed(secret, 'prove', nonce, instance, port)

/** What a client sends as its credential, once the daemon has proved itself. */
export const callKey = (secret: string): string => keyed(secret, 'call')

/**
 * What comes with every response: this answer is the daemon's, to this very call. A program that takes the port over
 * between two calls can neither answer a wait nor refuse an ask.
 */
export const responseTag = (secret: string, nonce: string, path: string, status: number, body: string): string =>
  keyed(secret, 'response', nonce, path, status, body)

/** Equal where two tokens are; tells nothing else about them. */
export const tokenTag = (secret: string, token: string | undefined): string =>
  keyed(secret, 'token', token === undefined ? 0 : 1, token ?? '')

/** What is sealed: the settings that a daemon tells, or what it is asked. */
export type Sealed = 'settings' | 'request'

const sealingKey = (secret: string, what: Sealed): Buffer => Buffer.from(keyed(secret, 'seal', what), 'hex')

/** Encrypts what only a holder of the secret may read (AES-256-GCM). */
export function seal (secret: string, what: Sealed, text: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(secret, what), iv)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

/** @throws Error when it was not sealed under this secret, as that, or was changed since. */
export function unseal (secret: string, what: Sealed, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(secret, what), bytes.subarray(0, 12), { authTagLength: 16 })
  decipher.setAuthTag(bytes.subarray(12, 28))
  return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8')
}
