import { cpSync, existsSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command, emptyFolder, ROOT } from '../helpers/packed'

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

t.test('what the image is built from is all that its build needs', async t => {
  const folder = emptyFolder(t)
  const lines = read('.dockerignore').split('\n').filter(line => line !== '' && !line.startsWith('#'))
  t.equal(lines[0], '*', 'nothing that is not named')
  for (const line of lines) {
    if (!line.startsWith('!')) continue
    const found = globSync(line.slice(1), { cwd: ROOT })
    t.ok(found.length > 0, `${line} names something`)
    for (const file of found) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  // As the Dockerfile has it, up to what it does with the result.
  const [, build = ''] = /^RUN (node \S+) && /m.exec(read('docker/Dockerfile')) ?? []
  const [, script = ''] = build.split(' ')
  const { code, stderr } = await command(process.execPath, [script], { cwd: folder })
  t.equal(code, 0, stderr.slice(0, 2_000))
  for (const file of ['readyroom.mjs', 'core.mjs', 'hook.mjs', 'watch.mjs', 'public/ui.html']) t.ok(existsSync(join(folder, 'dist', file)), file)
  for (const [, made] of read('docker/Dockerfile').matchAll(/^COPY (?:--chmod=\d+ )?(docker\/\S+)/gm)) t.ok(existsSync(join(folder, made!)), made!)
})
