/** What the two scripts say they are. Raise one whenever what it does changes: who has an older copy is told of it. */
export const HOOK_VERSION = '1.1.0'
export const WATCH_VERSION = '1.2.0'

/** Whether a version is older than another, both as `1.2.3`. False where one of them is something else. */
export function isOlder (version: string, than: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(than)]
  if (a === undefined || b === undefined) return false
  for (const at of [0, 1, 2]) if (a[at] !== b[at]) return a[at]! < b[at]!
  return false
}

function numbersOf (version: string): number[] | undefined {
  return /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(version) ? version.split('.').map(Number) : undefined
}
