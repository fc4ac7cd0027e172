import { applyEdits, modify } from 'jsonc-parser'
import { parseJson } from './edit-json'
import { isFields, same } from './merge'
import { SettingsError } from './settings-error'

type Fields = Record<string, unknown>

/** The hooks of Claude Code that are ours to serve. */
export const HOOK_EVENTS = ['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'Stop'] as const

/** The name of the file by which an entry of ours is known again. */
export const HOOK_FILE = 'readyroom-hook.mjs'

/** Longer than a hook of ours ever takes, in seconds. */
const TIMEOUT_S = 10

/**
 * The program and its words by themselves, so that no shell reads anything into a path. What Claude Code would replace in
 * one by the value of a variable cannot be written there.
 * @throws SettingsError
 */
export function hookEntry (node: string, file: string): Fields {
  if (/\$\{/.test(node + file)) throw new SettingsError('would hold a path with ${, which Claude Code replaces by the value of a variable; choose a folder without it')
  return { type: 'command', command: node, args: [file], timeout: TIMEOUT_S }
}

const isOurs = (hook: unknown): boolean =>
  isFields(hook) && [hook['command'], ...Array.isArray(hook['args']) ? hook['args'] : []].some(word => typeof word === 'string' && word.includes(HOOK_FILE))

/**
 * The text of Claude Code's settings with our entry at each of its hooks, or the same text where it says so already.
 * Whatever else stands there, other hooks among it, stays as it is.
 * @throws SettingsError where the text cannot be read
 */
export function putHooks (text: string, entry: Fields): string {
  const empty = text.trim() === ''
  let edited = empty ? '{}\n' : text
  const content = parseJson(edited, true)
  const hooks = content['hooks'] ?? {}
  if (!isFields(hooks)) throw new SettingsError('has something else than a group of settings at hooks')
  for (const event of HOOK_EVENTS) {
    const groups = hooks[event] ?? []
    if (!Array.isArray(groups)) throw new SettingsError(`has something else than a list at hooks.${event}`)
    edited = putInto(edited, event, groups, entry)
  }
  return edited
}

function putInto (text: string, event: string, groups: unknown[], entry: Fields): string {
  const set = (path: Array<string | number>, value: unknown, isInsertion = false): string =>
    applyEdits(text, modify(text, path, value, { isArrayInsertion: isInsertion, formattingOptions: styleOf(text) }))
  for (const [at, group] of groups.entries()) {
    const inside: unknown = isFields(group) ? group['hooks'] : undefined
    if (!Array.isArray(inside)) continue
    const found = inside.findIndex(isOurs)
    if (found === -1) continue
    return same(inside[found], entry) ? text : set(['hooks', event, at, 'hooks', found], entry)
  }
  const group = { ...(event === 'PostToolUse' && { matcher: '*' }), hooks: [entry] }
  return groups.length === 0 ? set(['hooks', event], [group]) : set(['hooks', event, groups.length], group, true)
}

function styleOf (text: string): { insertSpaces: boolean, tabSize: number, eol: string } {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '
  return { insertSpaces: !indent.includes('\t'), tabSize: indent.includes('\t') ? 1 : indent.length, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}
