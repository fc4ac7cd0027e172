import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { shellLine, shellLines } from '../../../lib/node/shell-line'

const HOME = 'C:\\Users\\Lea Chan'
const PROJECT = 'my repo (v2)'

/** What bash makes of a line. */
function bash (line: string): string[] {
  const { stdout, status } = spawnSync('bash', ['--norc', '-c', line.replace(/^show/, "printf '%s\\0'")], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\0').slice(0, -1) : ['bash failed']
}

/** How cmd hands a line on, and how a program of Windows then splits it (the rules of CommandLineToArgvW). */
function windowsProgram (line: string): string[] {
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

/** The words that PowerShell reads (about_Parsing, about_Quoting_Rules): '' is literal, "" expands $ and `. */
function powershell (line: string): string[] {
  return Array.from(line.matchAll(/'((?:[^'\u2018-\u201b]|['\u2018-\u201b]{2})*)'|"([^"]*)"|(\S+)/g), ([, single, double, bare]) => {
    if (single !== undefined) return single.replace(/(['\u2018-\u201b])\1/g, '$1')
    if (double !== undefined) {
      if (/[$`\u201c-\u201e]/.test(double)) throw new Error(`PowerShell expands in ${double}`)
      return double
    }
    if (/[^\w+:./\\=-]/.test(bare!) || bare === '--') throw new Error(`PowerShell acts on ${bare}`)
    return bare!
  })
}

t.test('a home and a project with spaces and brackets reach the program in bash, cmd and PowerShell', async t => {
  const words = ['show', '--state-dir', `${HOME}\\queue`, '--stream', PROJECT, '--write']
  t.strictSame(bash(shellLine(words, 'posix')!), words.slice(1))
  t.strictSame(windowsProgram(shellLine(words, 'cmd')!), words)
  t.strictSame(powershell(shellLine(words, 'powershell')!), words)
  t.strictSame(shellLines(words, 'win32'), [`show --state-dir "${HOME}\\queue" --stream "${PROJECT}" --write`], 'one line for both shells of Windows')
})

t.test('a folder that ends in a backslash does not swallow its closing quote', async t => {
  t.strictSame(windowsProgram(shellLine(['show', 'C:\\My Queue\\'], 'cmd')!), ['show', 'C:\\My Queue\\'])
})

t.test('what cmd cannot write is left to PowerShell, and said', async t => {
  t.equal(shellLine(['show', 'a %PATH% b'], 'cmd'), undefined)
  t.strictSame(shellLines(['show', 'a %PATH% b'], 'win32'), ['show "a %PATH% b"    (PowerShell)'])
  t.strictSame(shellLines(['show', 'a $HOME b'], 'win32'), ["show 'a $HOME b'    (PowerShell)", 'show "a $HOME b"    (cmd)'])
})

t.test('the end of options is quoted where PowerShell would keep it', async t => {
  t.equal(shellLine(['show', '--', 'npx'], 'powershell'), 'show "--" npx')
  t.equal(shellLine(['show', '--', 'npx'], 'cmd'), 'show "--" npx')
  t.equal(shellLine(['show', '--', 'npx'], 'posix'), 'show -- npx')
})

t.test('whatever a word holds, bash reads it back, and neither shell of Windows acts on it', async t => {
  const word = fc.string({ unit: fc.constantFrom('a', ' ', '"', "'", '$', '`', '\\', '!', '(', ')', '&', '|', '%', '~', '*', '#', '-', '\u2019', 'é'), minLength: 1, maxLength: 12 })
  fc.assert(fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), words => {
    const cmd = shellLine(['show', ...words], 'cmd')
    if (cmd !== undefined) t.strictSame(windowsProgram(cmd), ['show', ...words])
    else if (!words.some(one => /["%]/.test(one))) throw new Error('cmd could have written it')
    powershell(shellLine(['show', ...words], 'powershell')!)
  }), { numRuns: 300 })
  const words = fc.sample(word, { numRuns: 200, seed: 1 })
  t.strictSame(bash(shellLine(['show', ...words], 'posix')!), words)
})
