import { sqliteCode } from './sqlite'

const NAMED: Record<string, [what: string, remedy: string]> = {
  ENOSPC: ['the disk is full', 'Free some space there'],
  EDQUOT: ['the disk quota is used up', 'Free some space there'],
  EFBIG: ['the file has reached the largest size that is allowed here', 'Raise the limit (ulimit -f)'],
  EROFS: ['the disk is mounted read-only', 'Mount it for writing'],
  EACCES: ['permission is denied', 'Let this user write there'],
  EPERM: ['the operation is not permitted', 'Let this user write there'],
  EIO: ['the disk reports an input/output error', 'Check the disk'],
  ENOENT: ['a file or folder is missing', 'Put it back'],
  ENOTDIR: ['a part of the path is not a folder', 'Choose another path'],
  EEXIST: ['a file is in the place of the folder', 'Choose another path'],
  ELOOP: ['its links lead in a circle', 'Choose another path'],
  ENAMETOOLONG: ['the path is too long', 'Choose a shorter path'],
  EMFILE: ['too many files are open', 'Raise the limit (ulimit -n)'],
  ENFILE: ['too many files are open on this machine', 'Close some programs']
}

// Result codes of SQLite that stand for one of the above: https://sqlite.org/rescode.html
const OF_SQLITE: Record<number, string> = { 3: 'EACCES', 8: 'EROFS', 10: 'EIO', 13: 'ENOSPC', 14: 'EACCES' }

/** What a failed file operation means, in words: the clause that says what is wrong, and what to do about it. */
export function explainDiskError (err: unknown): { what: string, remedy: string } {
  const code = errorCode(err) ?? OF_SQLITE[sqliteCode(err) ?? -1]
  const known = code === undefined ? undefined : NAMED[code]
  if (known === undefined) return { what: err instanceof Error ? err.message : String(err), remedy: 'Check the disk' }
  return { what: `${known[0]} (${code})`, remedy: known[1] }
}

/** The code of a failed system call, such as ENOENT. */
export function errorCode (err: unknown): string | undefined {
  const code = (err as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined
}
