import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { acquireFolder, FolderError, FolderHeldError, LOCK_FILE } from '../../../lib/node/folder-lock'
import { testFolder } from '../../helpers/folder'

const root = resolve(import.meta.dirname, '../../..')

/** Starts a process that takes the folder, says so, and holds it until it is killed. */
async function holder (t: Test, dir: string, command = process.execPath, before: string[] = []) {
  const child = spawn(command, [...before, `--import=${join(root, 'ts-hooks.mjs')}`, '--input-type=module-typescript', '-e', `
    const { acquireFolder } = await import(${JSON.stringify(join(root, 'lib/node/folder-lock'))} + '.ts')
    try {
      acquireFolder(${JSON.stringify(dir)})
      console.log('held')
      setInterval(() => {}, 1_000)
    } catch (err) {
      console.log(err.name + ': ' + err.message)
    }
  `], { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const [line] = await once(createInterface(child.stdout), 'line') as [string]
  return { child, gone, line }
}

t.test('the folder is created for its owner alone, whatever the umask', async t => {
  const dir = join(testFolder(t), 'deep', 'state')
  const umask = process.umask(0o777)
  t.teardown(() => process.umask(umask))
  process.umask(0o022)
  acquireFolder(join(dir, '..')).release()
  process.umask(0o277)
  const lock = acquireFolder(dir)
  process.umask(umask)
  t.teardown(() => lock.release())
  t.equal(lock.dir, dir)
  t.equal(statSync(dir).mode & 0o777, 0o700)
  for (const name of readdirSync(dir)) t.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name)
  t.ok(existsSync(join(dir, LOCK_FILE)))
})

t.test('one holder at a time in one process, and the next after the first has let go', async t => {
  const dir = testFolder(t)
  const first = acquireFolder(dir)
  t.throws(() => acquireFolder(dir), FolderHeldError)
  t.throws(() => acquireFolder(dir), { name: 'FolderHeldError', dir, message: /READYROOM_STATE_DIR/ })
  const refused = await holder(t, dir)
  t.match(refused.line, 'FolderHeldError', 'the refusals in this process have not dropped its lock')
  first.release()
  first.release()
  const second = acquireFolder(dir)
  t.throws(() => acquireFolder(dir), FolderHeldError, 'a second release of the first does not free the second')
  second.release()
})

t.test('a process that is killed lets go at once', async t => {
  const dir = testFolder(t)
  const { child, gone, line } = await holder(t, dir)
  t.equal(line, 'held')
  t.throws(() => acquireFolder(dir), FolderHeldError)
  child.kill('SIGKILL')
  await gone
  acquireFolder(dir).release()
  t.equal(existsSync(join(dir, LOCK_FILE)), true)
})

t.test('a folder that cannot be created names itself, the reason and the variable', async t => {
  const file = join(testFolder(t, { file: 'a file' }), 'file')
  t.throws(() => acquireFolder(join(file, 'state')), FolderError)
  t.throws(() => acquireFolder(file), { name: 'FolderError', message: /state folder .*file cannot be used: .*READYROOM_STATE_DIR/ })
  t.throws(() => acquireFolder('/proc/readyroom/state'), { message: /\/proc\/readyroom\/state cannot be used/ })
})

t.test('a folder of mode 0555 refuses an ordinary user', async t => {
  const dir = testFolder(t)
  chmodSync(dir, 0o555)
  const { line } = process.getuid?.() === 0
    ? await holder(t, dir, 'setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath])
    : await holder(t, dir)
  t.match(line, /^FolderError: .*permission is denied \(EACCES\).*READYROOM_STATE_DIR/)
  t.match(line, dir)
})

t.test('a lock file with something else in it is an error that says so, and stays as it was', async t => {
  const dir = testFolder(t)
  writeFileSync(join(dir, LOCK_FILE), 'not a database, and longer than a header of one hundred bytes'.repeat(9))
  t.throws(() => acquireFolder(dir), {
    name: 'FolderError', message: new RegExp(`lock file ${join(dir, LOCK_FILE)} holds something.*Move it out.*READYROOM_STATE_DIR`)
  })
  t.ok(statSync(join(dir, LOCK_FILE)).size > 100)
})
