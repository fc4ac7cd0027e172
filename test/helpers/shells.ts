import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Node } from '@vscode/tree-sitter-wasm'

/** What bash makes of a line. */
export function bash (line: string): string[] {
  const { stdout, status } = spawnSync('bash', ['--norc', '-c', line.replace(/^show/, "printf '%s\\0'")], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\0').slice(0, -1) : ['bash failed']
}

/** How cmd hands a line on, and how a program of Windows then splits it (the rules of CommandLineToArgvW). */
export function windowsProgram (line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let inQuotes = false
  for (let i = 0; i < line.length; i++) {
    const slashes = /^\\*/.exec(line.slice(i))![0].length
    const next = line[i + slashes]
    if (slashes > 0) {
      word = (word ?? '') + '\\'.repeat(next === '"' ? slashes >> 1 : slashes)
      i += slashes - 1
      if (next === '"' && slashes % 2 === 1) {
        word += '"'
        i++
      }
    } else if (next === '"') {
      inQuotes = !inQuotes
      word ??= ''
    } else if (!inQuotes && next === ' ') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      // What cmd takes for itself outside of quotes, and a per cent sign even inside.
      if (next === '%' || (!inQuotes && /[&|<>^()]/.test(next!))) throw new Error(`cmd acts on ${next}`)
      word = (word ?? '') + next
    }
  }
  return word === undefined ? words : [...words, word]
}

// Its names are found by a require alone.
const require = createRequire(import.meta.url)
const { Language, Parser } = require('@vscode/tree-sitter-wasm') as typeof import('@vscode/tree-sitter-wasm')
const grammars = dirname(require.resolve('@vscode/tree-sitter-wasm'))
await Parser.init({ locateFile: (name: string) => join(grammars, name) })
const powershellParser = new Parser().setLanguage(await Language.load(join(grammars, 'tree-sitter-powershell.wasm')))

/**
 * The words that PowerShell reads in a line that is one command, by a grammar of PowerShell. What it would expand in
 * a word, or take for anything but a word, is thrown.
 */
export function powershell (line: string): string[] {
  const { rootNode } = powershellParser.parse(line)!
  const [command, ...more] = rootNode.descendantsOfType('command')
  if (rootNode.hasError || command == null || more.length > 0 || command.text !== line) throw new Error(`PowerShell does not read one command in ${line}`)
  const elements = command.childForFieldName('command_elements')?.children.filter(node => node?.type !== 'command_argument_sep') ?? []
  return [command.childForFieldName('command_name')!, ...elements].map(node => wordOf(node!))
}

function wordOf (node: Node): string {
  const { text } = node
  switch (node.type) {
    case 'command_name': case 'command_parameter': case 'generic_token':
      if (node.namedChildCount > 0 || text === '--' || /[$`;&|<>(){}@,]/.test(text)) break
      return text
    case 'verbatim_string_characters': return text.slice(1, -1).replace(/(['\u2018-\u201b])['\u2018-\u201b]/g, '$1')
    case 'expandable_string_literal':
      if (node.namedChildCount > 0 || /["$`\u201c-\u201e]/.test(text.slice(1, -1))) break
      return text.slice(1, -1)
    case 'array_literal_expression': case 'unary_expression': case 'string_literal':
      if (node.namedChildCount === 1 && node.firstNamedChild!.text === text) return wordOf(node.firstNamedChild!)
  }
  throw new Error(`PowerShell acts on ${text} (${node.type})`)
}
