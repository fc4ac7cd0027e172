/** Who reads a command line. What one of them takes as a letter another takes as an order. */
export type Shell = 'posix' | 'cmd' | 'powershell'

/**
 * One line that the shell turns into exactly these words. The first is expected to be a plain name. Undefined where the
 * shell has no way to write one of them, as cmd has none for a per cent sign or a double quote inside quotes.
 */
export function shellLine (words: readonly string[], shell: Shell): string | undefined {
  const quoted = words.map(word => QUOTE[shell](word))
  return quoted.includes(undefined) ? undefined : quoted.join(' ')
}

const QUOTE: Record<Shell, (word: string) => string | undefined> = { posix, cmd, powershell }

/** A word that none of the three reads anything into. A leading dash pair is not: PowerShell keeps a bare one for itself. */
const PLAIN = /^(?!--$)[\w+:./][\w+:./=-]*$|^--?[\w][\w+:./=-]*$/

function posix (word: string): string {
  if (PLAIN.test(word) || word === '--') return word
  // Double quotes where nothing in them is expanded, since that line works elsewhere too.
  return /["$`\\!\n]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`
}

function cmd (word: string): string | undefined {
  if (PLAIN.test(word) || /^[\w:.\\][\w:.\\-]*$/.test(word)) return word
  if (/["%\r\n]/.test(word)) return undefined
  // The program splits its line itself: a backslash before the closing quote would make that a letter.
  return `"${word.replace(/\\+$/, '$&$&')}"`
}

function powershell (word: string): string {
  if (PLAIN.test(word) || /^[\w:.\\][\w:.\\-]*$/.test(word)) return word
  const end = word.replace(/\\+$/, '$&$&')
  return /["$`\u201c-\u201e\r\n]/.test(word) ? `'${end.replace(/['\u2018-\u201b]/g, '$&$&')}'` : `"${end}"`
}
