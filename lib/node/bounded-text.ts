/**
 * The body of a response as text, as long as it is no longer than `limit`, in bytes: a server that never ends would fill
 * the memory first.
 * @throws Error where it is longer, or breaks off
 */
export async function boundedText (response: Response, limit: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > limit) throw new Error(`the answer is longer than ${limit} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
