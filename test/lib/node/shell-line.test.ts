import fc from 'fast-check'
import t from 'tap'
import { shellLine, shellLines } from '../../../lib/node/shell-line'
import { bash, powershell, windowsProgram } from '../../helpers/shells'

const HOME = 'C:\\Users\\Lea Chan'
const PROJECT = 'my repo (v2)'

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
