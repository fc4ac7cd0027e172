/** One block of an event stream. A comment alone is one too, for whoever wants to know that the line is alive. */
export interface Frame {
  id?: string
  event?: string
  data?: string
}

/** A line that never ends is nothing a server of ours sends. */
const MAX_CHARS = 1_048_576

/**
 * Reads an event stream piece by piece (HTML Living Standard, 9.2.6).
 * @returns what takes the next piece of text
 * @throws Error from it where a block is longer than a mebibyte
 */
export function frameReader (onFrame: (frame: Frame) => void): (text: string) => void {
  let rest = ''
  let frame: Frame = {}
  return text => {
    rest += text
    for (;;) {
      // A carriage return at the very end may be half of a line's end.
      const end = /\r\n|\n|\r(?!$)/.exec(rest)
      if (end === null) break
      const line = rest.slice(0, end.index)
      rest = rest.slice(end.index + end[0].length)
      if (line === '') {
        onFrame(frame)
        frame = {}
      } else {
        take(frame, line)
      }
    }
    if (rest.length + (frame.data?.length ?? 0) > MAX_CHARS) throw new Error('an event is too long')
  }
}

function take (frame: Frame, line: string): void {
  const colon = line.indexOf(':')
  const name = colon === -1 ? line : line.slice(0, colon)
  const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'data') frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`
  else if (name === 'event') frame.event = value
  else if (name === 'id' && !value.includes('\0')) frame.id = value
}
