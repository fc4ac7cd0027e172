import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keepCompiled, type CompileCacheOptions } from '../../../lib/node/compile-cache'

const uid = process.getuid?.() ?? -1

/** Keeps nothing for real: says which folder would have been used. */
function attempt (tmp: string, options: Partial<CompileCacheOptions> = {}): { kept: string | undefined, enabled: string[] } {
  const enabled: string[] = []
  const kept = keepCompiled({ args: [], tmp, uid, enable: folder => { enabled.push(folder) }, ...options })
  return { kept, enabled }
}

t.test('what was compiled is kept in a folder that is the user\'s alone, and found there again', async t => {
  const tmp = t.testdir()
  const first = attempt(tmp)
  const folder = join(tmp, uid === -1 ? 'readyroom-compiled' : `readyroom-compiled-${uid}`)
  t.strictSame(first, { kept: folder, enabled: [folder] })
  if (uid !== -1) t.equal(statSync(folder).mode & 0o777, 0o700)
  t.strictSame(attempt(tmp, { args: ['serve', '--port', '1'] }), first)
})

t.test('a folder that somebody else made, or may write to, is not used: what is kept there is run', { skip: uid === -1 && 'no user ids here' }, async t => {
  const none = { kept: undefined, enabled: [] }
  const open = t.testdir()
  mkdirSync(join(open, `readyroom-compiled-${uid}`))
  chmodSync(join(open, `readyroom-compiled-${uid}`), 0o770)
  t.strictSame(attempt(open), none, 'open to a group')

  const foreign = t.testdir()
  mkdirSync(join(foreign, `readyroom-compiled-${uid + 1}`), { mode: 0o700 })
  t.strictSame(attempt(foreign, { uid: uid + 1 }), none, 'of another user')

  const link = t.testdir({ elsewhere: {} })
  chmodSync(join(link, 'elsewhere'), 0o700)
  symlinkSync(join(link, 'elsewhere'), join(link, `readyroom-compiled-${uid}`))
  t.strictSame(attempt(link), none, 'a link')
})

t.test('no place to keep it is no error', async t => {
  const tmp = t.testdir({ file: '' })
  t.strictSame(attempt(join(tmp, 'gone')), { kept: undefined, enabled: [] })
  t.strictSame(attempt(join(tmp, 'file')), { kept: undefined, enabled: [] })
  const refused = keepCompiled({ args: [], tmp, uid, enable: () => { throw new Error('no space left') } })
  t.equal(refused, undefined)
  const name = uid === -1 ? 'readyroom-compiled' : `readyroom-compiled-${uid}`
  const taken = t.testdir()
  writeFileSync(join(taken, name), '')
  t.strictSame(attempt(taken), { kept: undefined, enabled: [] }, 'a file of that name')
})

t.test('a short command keeps nothing: it would decide how little is kept', async t => {
  const tmp = t.testdir()
  for (const args of [['--version'], ['status'], ['doctor', '--json']]) t.strictSame(attempt(tmp, { args }).enabled, [])
  t.notOk(existsSync(join(tmp, `readyroom-compiled-${uid}`)))
})
