import { shellLine } from '../shell-line'

export { shellLine, type Shell } from '../shell-line'

/**
 * The line for whoever sits at this machine, with a heading where it takes two: nobody can tell from here which of the
 * shells of Windows is used, and most lines are the same in both.
 */
export function shellLines (words: readonly string[], platform: NodeJS.Platform): string[] {
  if (platform !== 'win32') return [shellLine(words, 'posix')!]
  const cmd = shellLine(words, 'cmd')
  const powershell = shellLine(words, 'powershell')!
  return cmd === powershell ? [cmd] : [`${powershell}    (PowerShell)`, ...(cmd === undefined ? [] : [`${cmd}    (cmd)`])]
}
