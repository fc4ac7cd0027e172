import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const SCRIPT = fileURLToPath(new URL('../../scripts/chromium.mjs', import.meta.url))
// Whoever runs the tests: without root no package of the system is installed by them.
const AS_ANYBODY = '--import=data:text/javascript,process.getuid=()=>1'

// Outside this project, so that no browser of its dependencies is found.
const folder = await mkdtemp(join(tmpdir(), 'readyroom-chromium-'))
t.teardown(() => rm(folder, { recursive: true }))
// As deep as it is in the project: what it unpacks goes beside its own folder.
const script = join(folder, 'scripts', 'chromium.mjs')
await mkdir(join(folder, 'scripts'))
await copyFile(SCRIPT, script)

async function browser (name: string, lines: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\n${lines}\n`)
  await chmod(path, 0o755)
  return path
}

const find = (env: Record<string, string>) => promisify(execFile)(process.execPath, [AS_ANYBODY, script], { env: { PATH: folder, ...env } })
  .then(({ stdout }) => stdout.trim())

t.test('without any browser it fails, and says what was tried and what to do', async t => {
  await t.rejects(find({}), {
    code: 1, stderr: /Install one, or set CHROMIUM_PATH[^]*on the PATH: none[^]*Debian's package: needs root[^]*@sparticuz\/chromium: Cannot find package/
  })
})

t.test('one on the PATH that starts is taken, one that does not start is passed over', async t => {
  await browser('chromium', 'exit 127')
  const working = await browser('google-chrome', 'exit 0')
  t.equal(await find({}), working)
})

t.test('the one that is named is taken, and no other in its place', async t => {
  const named = await browser('my browser', 'exit 0')
  t.equal(await find({ CHROMIUM_PATH: named }), named)
  t.equal(await find({ CHROME_PATH: named }), named)
  await t.rejects(find({ CHROMIUM_PATH: join(folder, 'absent') }), { code: 1, stderr: /^CHROMIUM_PATH: .*absent is no browser that starts/ })
})
