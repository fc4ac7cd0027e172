const encoder = new TextEncoder()

const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))

/**
 * Whether two secrets are equal, in a time that tells nothing about where they differ or how long they are: their
 * digests are compared byte by byte, to the end. One implementation for every runtime.
 */
export async function constantTimeEqual (a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([digest(a), digest(b)])
  let difference = 0
  for (let i = 0; i < left.length; i++) difference |= left[i]! ^ right[i]!
  return difference === 0
}

/** The token of an `Authorization: Bearer` header (RFC 6750, 2.1), or undefined where there is none. */
export function bearerOf (authorization: string | undefined | null): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1]
}
