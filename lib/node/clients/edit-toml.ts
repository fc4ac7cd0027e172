import { parse, patch, stringify } from '@decimalturn/toml-patch'
import { SettingsError } from './settings-error'

type Fields = Record<string, unknown>

/** Every table under a heading of its own, as people write them. */
const STYLE = { inlineTableStart: 10, bracketSpacing: false }

/** @throws SettingsError */
export function parseToml (text: string): Fields {
  try {
    return plainly(parse(text) as Fields)
  } catch (err) {
    const { line, message } = err as { line?: number, message: string }
    throw new SettingsError(`is not TOML: ${message.split('\n').at(-1)!.toLowerCase()}`, line)
  }
}

export function printToml (path: string[], entry: Fields): string {
  const whole = stringify(path.reduceRight<Fields>((inner, name) => ({ [name]: inner }), entry), STYLE)
  // The heading of a table that holds nothing but tables says nothing.
  return whole.replace(/^\[[\w-]+\]\n\n(?=\[)/, '')
}

/** A new entry goes to the end, where it moves nothing; an old one is changed where it stands. */
export function editToml (text: string, path: string[], entry: Fields): string {
  const wanted = parseToml(text)
  let group = wanted
  for (const name of path.slice(0, -1)) group = (group[name] ??= {}) as Fields
  const isNew = !Object.hasOwn(group, path.at(-1)!)
  group[path.at(-1)!] = entry
  if (isNew) {
    const eol = text.includes('\r\n') ? '\r\n' : '\n'
    const longer = text + (text.endsWith('\n') ? '' : eol) + eol + printToml(path, entry).replaceAll('\n', eol)
    try {
      parse(longer)
      return longer
    } catch { /* The group is written in a way that no heading can add to. */ }
  }
  return patch(text, wanted, STYLE)
}

// Its groups have no prototype, which would make them unlike ours; its dates are objects of its own, and stay what they are.
function plainly (group: Fields): Fields {
  return Object.fromEntries(Object.entries(group).map(([name, value]) => [name, isGroup(value) ? plainly(value) : value]))
}

function isGroup (value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
