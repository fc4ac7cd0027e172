/** What was asked for, on its way to standard output. */
export interface Output {
  /** Resolves when the text is taken; false once the reader has gone, after which nothing is worth making. */
  write (text: string): Promise<boolean>
}

/** Writes at the reader's pace. A reader that leaves early, as `head` does, is no failure. */
export function outputTo (stream: NodeJS.WritableStream): Output {
  let open = true
  stream.on('error', () => { open = false })
  return {
    write: text => new Promise(resolve => {
      if (!open) return resolve(false)
      stream.write(text, err => resolve(open && !err))
    })
  }
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
