/** How many lists and objects may stand within each other in what is sent. Nothing of ours has ten. */
export const NESTING_LIMIT = 100

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Whether JSON is nested deeper than the limit, told from its bytes: to parse a megabyte of brackets takes a hundred times as long as
 * a megabyte of text, and nobody else is served meanwhile. What is no JSON is the parser's to find.
 */
export function isTooDeep (bytes: Uint8Array): boolean {
  let depth = 0
  let isText = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (isText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) {
      isText = true
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > NESTING_LIMIT) return true
    } else if (byte === 0x5d || byte === 0x7d) {
      depth--
    }
  }
  return false
}
