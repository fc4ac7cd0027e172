import { withoutTokens } from './agent-token'
import type { Client } from './clients'
import { editJson, parseJson, printJson } from './edit-json'
import { editToml, parseToml, printToml } from './edit-toml'
import { isFields, mergeEntry, same } from './merge'
import { SettingsError } from './settings-error'
import type { Way } from './way'

type Fields = Record<string, unknown>

interface Format {
  /** @throws SettingsError */
  parse (text: string): Fields
  /** Changes as few bytes as it can. @throws SettingsError */
  edit (text: string, path: string[], entry: Fields): string
  /** A file with nothing but the entry. */
  print (path: string[], entry: Fields): string
}

const FORMATS: Record<Client['format'], Format> = {
  json: { parse: text => parseJson(text, true), edit: editJson, print: printJson },
  jsonc: { parse: text => parseJson(text, false), edit: editJson, print: printJson },
  toml: { parse: parseToml, edit: editToml, print: printToml }
}

/** The entry alone, as a whole file. */
export function printEntry (client: Client, way: Way): string {
  return FORMATS[client.format].print(client.path(undefined), client.entry(way, undefined))
}

export interface Found {
  /** What the entry says now. */
  entry: Fields | undefined
  /** It is there, and the client does not use it. */
  off: boolean
}

/** What a file of settings says about Ready Room. @throws SettingsError */
export function findEntry (client: Client, text: string): Found {
  const content = text.trim() === '' ? {} : FORMATS[client.format].parse(text)
  const entry = entryAt(content, client.path(content))
  return { entry, off: entry !== undefined && (entry['enabled'] === false || entry['disabled'] === true) }
}

/**
 * The text of a client's settings with the entry in it, or the same text where it says so already. Whatever else stands
 * there, in whatever order and with whatever comments, stays as it is.
 * @throws SettingsError where the text cannot be read, or cannot be changed without touching something else
 */
export function putEntry (client: Client, text: string, way: Way): string {
  const format = FORMATS[client.format]
  if (text.trim() === '') return format.print(client.path(undefined), client.entry(way, undefined))
  const content = format.parse(text)
  const path = client.path(content)
  const old = entryAt(content, path)
  const kept = old !== undefined && way.token.kind !== 'none' && way.token.variable === 'READYROOM_AGENT_TOKEN' ? withoutTokens(old) : old
  const wanted = mergeEntry(kept, client.entry(way, content), way.kind, client.only)
  if (same(old, wanted)) return text
  const edited = format.edit(text, path, wanted)
  // Whatever an odd file has led us to, only what was meant is ever written.
  if (!same(read(format, edited), withEntry(content, path, wanted))) {
    throw new SettingsError(`is written in a way that cannot be changed safely; put the entry ${path.join('.')} into it by hand`)
  }
  return edited
}

function read (format: Format, text: string): Fields | undefined {
  try { return format.parse(text) } catch { return undefined }
}

function entryAt (content: Fields, path: string[]): Fields | undefined {
  let value: unknown = content
  for (const [depth, name] of path.entries()) {
    if (!isFields(value)) throw new SettingsError(`has something else than a group of settings at ${path.slice(0, depth).join('.')}`)
    value = Object.hasOwn(value, name) ? value[name] : undefined
    if (value === undefined) return undefined
  }
  if (!isFields(value)) throw new SettingsError(`has something else than a group of settings at ${path.join('.')}`)
  return value
}

function withEntry (content: Fields, [name, ...rest]: string[], entry: Fields): Fields {
  const inner = content[name!]
  return { ...content, [name!]: rest.length === 0 ? entry : withEntry(isFields(inner) ? inner : {}, rest, entry) }
}
