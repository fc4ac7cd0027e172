import { isDeepStrictEqual } from 'node:util'
import type { Way } from './way'

type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/**
 * The entry as it should be, where there is one already. What the person has added stays: further variables and headers,
 * a switch, a longer timeout. What would make no sense any more, since it belongs to the other kind, goes.
 */
export function mergeEntry (old: Fields | undefined, entry: Fields, kind: Way['kind'], only: Record<Way['kind'], readonly string[]>): Fields {
  if (old === undefined) return entry
  const other = only[kind === 'stdio' ? 'http' : 'stdio'].filter(name => !only[kind].includes(name))
  return merge(Object.fromEntries(Object.entries(old).filter(([name]) => !other.includes(name))), entry)
}

function merge (old: Fields, wanted: Fields): Fields {
  const result: Fields = { ...old }
  for (const [name, value] of Object.entries(wanted)) {
    const before = old[name]
    if (isFields(before) && isFields(value)) result[name] = merge(before, value)
    else if (isLonger(name, before, value)) continue
    // The variables that Codex passes on: a list of which ours is one.
    else if (name === 'env_vars' && Array.isArray(before) && Array.isArray(value)) result[name] = [...before, ...value.filter(one => !before.includes(one))]
    else result[name] = value
  }
  return result
}

const isLonger = (name: string, before: unknown, value: unknown): boolean =>
  /timeout|^request$/.test(name) && (typeof before === 'number' || typeof before === 'bigint') && Number(before) > Number(value)

export const same = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b)
