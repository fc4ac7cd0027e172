import type { DiskFile } from './disk'

/** What one line may measure at most, in bytes: well above the largest ticket with every character escaped. */
export const MAX_LINE = 4 * 1024 * 1024

const CHUNK = 256 * 1024
const BREAK = 0x0a

/** A line of a file and where it stands, in bytes: `end` is behind its line break. */
export interface Line {
  /** Undefined for a line too long to be one of ours; it is passed over, never held in memory. */
  text: string | undefined
  start: number
  end: number
  /** False for what stands behind the last line break. */
  whole: boolean
}

/**
 * The lines between two places in a file, as many at a time as one read brings: memory stays the same however long the
 * file is, and a promise for each line would cost more than the line.
 */
export async function * readLines (file: DiskFile, from: number, to: number): AsyncGenerator<Line[], void, undefined> {
  let start = from
  // What the reads before this one brought of the line that begins at `start`.
  let begun: Buffer[] = []
  let begunBytes = 0

  const finish = (last: Buffer, end: number, whole: boolean): Line => {
    const length = begunBytes + last.length
    const bytes = begun.length === 0 ? last : Buffer.concat([...begun, last])
    const line = { text: length > MAX_LINE ? undefined : bytes.toString('utf8'), start, end, whole }
    begun = []
    begunBytes = 0
    start = end
    return line
  }

  for (let position = from; position < to;) {
    const chunk = await file.read(position, Math.min(CHUNK, to - position))
    if (chunk.length === 0) break
    const lines: Line[] = []
    let used = 0
    for (let at = chunk.indexOf(BREAK); at !== -1; at = chunk.indexOf(BREAK, used)) {
      lines.push(finish(chunk.subarray(used, at), position + at + 1, true))
      used = at + 1
    }
    const rest = chunk.subarray(used)
    begunBytes += rest.length
    if (begunBytes > MAX_LINE) begun = []
    else if (rest.length > 0) begun.push(rest)
    position += chunk.length
    if (lines.length > 0) yield lines
  }
  if (begunBytes > 0) yield [finish(Buffer.alloc(0), start + begunBytes, false)]
}
