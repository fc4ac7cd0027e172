import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { changeSettings, readSettings } from '../../../../lib/node/clients/settings-file'
import { SettingsError } from '../../../../lib/node/clients/settings-error'
import { testFolder } from '../../../helpers/folder'

const NOW = Date.parse('2026-11-30T12:00:00Z')
const OPTIONS = { nowMs: NOW, secret: false }
const BACKUP = 'mcp.json.before-readyroom-2026-11-30T12-00-00.000Z'
const mode = (path: string): number => statSync(path).mode & 0o777

t.test('a change replaces the file in one step, and keeps what was there beside it', async t => {
  const dir = testFolder(t, { 'mcp.json': 'old' })
  const path = join(dir, 'mcp.json')
  chmodSync(path, 0o640)
  const { ino } = statSync(path)
  t.strictSame(changeSettings(path, text => `${text} and new`, OPTIONS), { file: path, backup: join(dir, BACKUP) })
  t.equal(readFileSync(path, 'utf8'), 'old and new')
  t.equal(readFileSync(join(dir, BACKUP), 'utf8'), 'old')
  t.not(statSync(path).ino, ino, 'another file by the same name')
  t.strictSame([mode(path), mode(join(dir, BACKUP))], [0o640, 0o640])
  t.strictSame(readdirSync(dir).sort(), ['mcp.json', BACKUP])
  t.equal(changeSettings(path, () => 'newer', OPTIONS)?.backup, join(dir, `${BACKUP}-2`), 'no backup is written over')
})

t.test('what needs no change is not touched', async t => {
  const dir = testFolder(t, { 'mcp.json': 'as it is' })
  const path = join(dir, 'mcp.json')
  const { ino, mtimeMs } = statSync(path)
  t.equal(changeSettings(path, text => text, OPTIONS), undefined)
  t.strictSame([statSync(path).ino, statSync(path).mtimeMs, readdirSync(dir)], [ino, mtimeMs, ['mcp.json']])
})

t.test('missing folders are made, and a file that holds a secret is its owner\'s alone', async t => {
  const dir = testFolder(t)
  const path = join(dir, 'my repo (v2)', '.cursor', 'mcp.json')
  t.strictSame(changeSettings(path, () => '{}', { nowMs: NOW, secret: true }), { file: path, backup: undefined })
  t.equal(mode(path), 0o600)
  const open = join(dir, 'open.json')
  changeSettings(open, () => '{}', OPTIONS)
  t.equal(mode(open), 0o666 & ~process.umask())
})

t.test('links are followed and stay links, also one to a file that is not there yet', async t => {
  const dir = testFolder(t, { dotfiles: { 'mcp.json': 'old' } })
  const [link, early] = [join(dir, 'link.json'), join(dir, 'early.json')]
  symlinkSync('dotfiles/mcp.json', link)
  symlinkSync('dotfiles/new.json', early)
  t.match(changeSettings(link, () => 'new', OPTIONS), { file: join(dir, 'dotfiles/mcp.json'), backup: join(dir, 'dotfiles', BACKUP) })
  changeSettings(early, () => 'new', OPTIONS)
  t.ok(lstatSync(link).isSymbolicLink() && lstatSync(early).isSymbolicLink())
  t.strictSame([readSettings(link), readSettings(early)], ['new', 'new'])
})

t.test('a byte order mark and the ends of lines stay', async t => {
  const dir = testFolder(t, { 'mcp.json': '\ufeffa\r\n' })
  const path = join(dir, 'mcp.json')
  t.equal(readSettings(path), 'a\r\n')
  changeSettings(path, text => `${text}b\r\n`, OPTIONS)
  t.equal(readFileSync(path, 'utf8'), '\ufeffa\r\nb\r\n')
})

t.test('what another program writes in between is not lost', async t => {
  const dir = testFolder(t, { 'mcp.json': 'old' })
  const path = join(dir, 'mcp.json')
  let calls = 0
  changeSettings(path, text => {
    if (++calls === 1) writeFileSync(path, 'theirs')
    return `${text} ours`
  }, OPTIONS)
  t.equal(readFileSync(path, 'utf8'), 'theirs ours')
  t.throws(() => changeSettings(path, text => {
    writeFileSync(path, `theirs ${++calls}`)
    return `${text} ours`
  }, OPTIONS), /being written by another program all the time/)
  t.match(readFileSync(path, 'utf8'), /^theirs \d$/)
  t.equal(readdirSync(dir).filter(name => name.endsWith('.tmp')).length, 0)
})

t.test('a file that is no text, or that the edit refuses, is left as it was', async t => {
  const dir = testFolder(t, { 'mcp.json': Buffer.from('\ufeff{}', 'utf16le') })
  const path = join(dir, 'mcp.json')
  t.throws(() => changeSettings(path, () => 'x', OPTIONS), SettingsError)
  t.throws(() => readSettings(path), /is not UTF-8 text/)
  writeFileSync(path, 'old')
  t.throws(() => changeSettings(path, () => { throw new SettingsError('is odd', 3) }, OPTIONS), /is odd/)
  t.strictSame([readFileSync(path, 'utf8'), readdirSync(dir)], ['old', ['mcp.json']])
})

t.test('what the disk does not allow is said, and leaves nothing behind', async t => {
  const dir = testFolder(t, { blocked: 'a file', folder: { 'mcp.json': {} } })
  t.throws(() => changeSettings(join(dir, 'blocked', 'mcp.json'), () => 'x', OPTIONS), /could not be changed, and is as it was|cannot be read/)
  t.throws(() => changeSettings(join(dir, 'folder', 'mcp.json'), () => 'x', OPTIONS), /cannot be read/)
  symlinkSync('round.json', join(dir, 'round.json'))
  t.throws(() => changeSettings(join(dir, 'round.json'), () => 'x', OPTIONS), /links lead in a circle/)
  t.strictSame(readdirSync(dir).sort(), ['blocked', 'folder', 'round.json'])
  t.notOk(existsSync(join(dir, BACKUP)))
})
