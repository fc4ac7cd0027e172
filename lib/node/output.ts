import { fstatSync, writeFileSync } from 'node:fs'
import { errorCode, explainDiskError } from './disk-error'
import { RefusedError } from './refused'

/** What was asked for, on its way to standard output. */
export interface Output {
  /**
   * Resolves when the text is taken; false once the reader has gone, after which nothing is worth making.
   * @throws RefusedError when it cannot be written: half of an export must not pass for the whole
   */
  write (text: string): Promise<boolean>
}

/** What a write says when nobody reads any more. */
const GONE = new Set(['EPIPE', 'ECONNRESET', 'EOF'])

/** Writes at the reader's pace. A reader that leaves early, as `head` does, is no failure. */
export function outputTo (stream: NodeJS.WritableStream & { fd?: number }): Output {
  let open = true
  stream.on('error', () => { open = false })
  const put = isFile(stream.fd) ? toFile(stream.fd) : toStream(stream)
  return {
    async write (text) {
      if (!open) return false
      try {
        await put(text)
        return open
      } catch (err) {
        open = false
        if (GONE.has(errorCode(err) ?? '')) return false
        const { what, remedy } = explainDiskError(err)
        throw new RefusedError(`The output could not be written in full: ${what}. ${remedy}, then try again.`, { cause: err })
      }
    }
  }
}

const toStream = (stream: NodeJS.WritableStream) => (text: string): Promise<void> => new Promise((resolve, reject) => {
  stream.write(text, err => err ? reject(err) : resolve())
})

// Node's own stream on a file makes one write of each chunk and does not look at how much of it a full disk took.
const toFile = (fd: number) => async (text: string): Promise<void> => writeFileSync(fd, text)

function isFile (fd: number | undefined): fd is number {
  try {
    return fd !== undefined && fstatSync(fd).isFile()
  } catch { return false }
}

/** Text of somebody else's, fit for one line of a terminal: nothing in it can move the cursor or turn the direction of what follows. */
export function plain (text: string, max = 100): string {
  const line = text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').replace(/[\p{Cf}\p{Cs}]/gu, '').trim()
  const characters = [...line]
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : line
}

/** Names and what they stand for, one below the other. */
export function table (rows: Array<[name: string, value: string] | undefined>): string {
  const shown = rows.filter(row => row !== undefined)
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('')
}

/** Resolves when everything written so far is out, or nobody reads it any more. */
export function written (stream: NodeJS.WritableStream): Promise<void> {
  return new Promise(resolve => { stream.write('', () => resolve()) })
}
