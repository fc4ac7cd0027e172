import { createScanner, findNodeAtLocation, type Node, parse, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { isFields, same } from './merge'
import { SettingsError } from './settings-error'

type Fields = Record<string, unknown>

// Kinds of token, as the scanner numbers them.
const CLOSE = 2
const COMMA = 5
const LINE_COMMENT = 12
const BLOCK_COMMENT = 13
const LINE_BREAK = 14
const END = 17

/**
 * @param strict without comments and trailing commas
 * @throws SettingsError
 */
export function parseJson (text: string, strict: boolean): Fields {
  const errors: ParseError[] = []
  const content: unknown = parse(text, errors, { allowTrailingComma: !strict, disallowComments: strict, allowEmptyContent: true })
  const [first] = errors
  if (first !== undefined) throw new SettingsError(`is not JSON: ${words(printParseErrorCode(first.error))}`, lineOf(text, first.offset))
  // Comments alone.
  if (content === undefined) return {}
  if (!isFields(content)) throw new SettingsError('is not a group of settings, which in JSON stands in braces', 1)
  return content
}

export function printJson (path: string[], entry: Fields): string {
  return `${JSON.stringify(path.reduceRight<Fields>((inner, name) => ({ [name]: inner }), entry), null, 2)}\n`
}

/** Sets each value that differs, one after the other, and touches nothing between them. */
export function editJson (text: string, path: string[], entry: Fields): string {
  const tree = parseTree(text)
  if (tree === undefined) return text + (/\n$/.test(text) || text === '' ? '' : '\n') + printJson(path, entry)
  refuseDoubles(text, tree, path)
  const node = findNodeAtLocation(tree, path)
  if (node === undefined) {
    // The deepest group that is there takes the rest.
    let depth = path.length - 1
    while (depth > 0 && findNodeAtLocation(tree, path.slice(0, depth)) === undefined) depth--
    const value = path.slice(depth + 1).reduceRight<Fields>((inner, name) => ({ [name]: inner }), entry)
    return insert(text, depth === 0 ? tree : findNodeAtLocation(tree, path.slice(0, depth))!, path[depth]!, value)
  }
  const old = valueOf(node)
  if (!isFields(old) || Object.keys(old).some(name => !Object.hasOwn(entry, name))) return replace(text, node, entry)
  let edited = text
  for (const [name, value] of Object.entries(entry)) {
    const now = findNodeAtLocation(parseTree(edited)!, path)!
    const inner = findNodeAtLocation(now, [name])
    if (inner === undefined) edited = insert(edited, now, name, value)
    else if (isFields(value) && isFields(valueOf(inner))) edited = editJson(edited, [...path, name], value)
    else if (!same(valueOf(inner), value)) edited = replace(edited, inner, value)
  }
  return edited
}

function replace (text: string, { offset, length }: Node, value: unknown): string {
  const style = styleOf(text)
  return text.slice(0, offset) + render(value, style, indentAt(text, offset)) + text.slice(offset + length)
}

/** Behind the last thing in the group and the remark beside it. */
function insert (text: string, group: Node, name: string, value: unknown): string {
  const style = styleOf(text)
  const last = group.children?.at(-1)
  const gap = gapBehind(text, last === undefined ? group.offset + 1 : last.offset + last.length)
  const comma = last !== undefined && gap.comma === undefined ? ',' : ''
  const after = gap.comma === undefined ? '' : ','
  const from = last === undefined ? gap.end : gap.lineEnd
  const end = last === undefined ? from : last.offset + last.length
  const before = text.slice(0, end) + comma + text.slice(end, from)
  const tail = text.slice(from)

  if (last !== undefined && !text.slice(group.offset, group.offset + group.length).includes('\n')) {
    // All on one line stays so.
    return `${before}${style.tight ? '' : ' '}${JSON.stringify(name)}:${style.tight ? '' : ' '}${flat(value, style.tight)}${after}${tail}`
  }
  const outer = indentAt(text, group.offset)
  const inner = outer + style.unit
  const property = `${style.eol}${inner}${JSON.stringify(name)}: ${render(value, style, inner)}${after}`
  if (last !== undefined) return before + property + tail
  return before.trimEnd() + property + style.eol + outer + tail
}

interface Gap {
  comma: number | undefined
  /** Behind the comma and the comments on its line. */
  lineEnd: number
  /** Where the group closes. */
  end: number
}

function gapBehind (text: string, offset: number): Gap {
  const scanner = createScanner(text)
  scanner.setPosition(offset)
  let comma: number | undefined
  let lineEnd = offset
  let onLine = true
  for (;;) {
    const token: number = scanner.scan()
    const end = scanner.getTokenOffset() + scanner.getTokenLength()
    if (token === CLOSE || token === END) return { comma, lineEnd, end: scanner.getTokenOffset() }
    if (token === COMMA) {
      comma = scanner.getTokenOffset()
      // A comma on a line of its own belongs to what is before it.
      lineEnd = end
      onLine = true
    } else if (token === LINE_BREAK) onLine = false
    else if ((token === LINE_COMMENT || token === BLOCK_COMMENT) && onLine) lineEnd = end
  }
}

interface Style { unit: string, eol: string, tight: boolean }

function styleOf (text: string): Style {
  return {
    unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ',
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    tight: /[,{]"(?:[^"\\]|\\.)*":\S/.test(text)
  }
}

const indentAt = (text: string, offset: number): string => /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))![0]

const render = (value: unknown, { unit, eol }: Style, indent: string): string =>
  JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)

function flat (value: unknown, tight: boolean): string {
  if (tight) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(one => flat(one, false)).join(', ')}]`
  if (!isFields(value)) return JSON.stringify(value)
  return `{ ${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${flat(one, false)}`).join(', ')} }`
}

function valueOf ({ type, children = [], value }: Node): unknown {
  if (type === 'array') return children.map(valueOf)
  if (type !== 'object') return value
  return Object.fromEntries(children.map(({ children: [name, inner] = [] }) => [name!.value, valueOf(inner!)]))
}

/** Of two entries by one name programs take one or the other; which, nobody should have to guess. @throws SettingsError */
function refuseDoubles (text: string, tree: Node, path: string[]): void {
  let group: Node | undefined = tree
  for (const name of path) {
    const found: Node[] = (group?.children ?? []).filter(({ children }) => children?.[0]?.value === name)
    if (found.length > 1) throw new SettingsError(`says ${JSON.stringify(name)} twice in one group`, lineOf(text, found[1]!.offset))
    group = found[0]?.children?.[1]
  }
}

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

/** `PropertyNameExpected` becomes `property name expected`. */
const words = (code: string): string => code.replace(/(?!^)[A-Z]/g, ' $&').toLowerCase()
