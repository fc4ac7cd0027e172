// Finds a Chromium for the browser tests, or brings one: a test that has no browser fails, it is never skipped.
//   node scripts/chromium.mjs    prints the path
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome']
// Outside the PATH on a Mac.
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium'
]

const WRAPPER = `#!/bin/sh
here=\${0%/*}
export LD_LIBRARY_PATH="$here/al2023/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FONTCONFIG_PATH="$here/fonts"
exec "$here/chromium" "$@"
`

const FONTS = `<?xml version="1.0"?>
<fontconfig><dir prefix="relative">.</dir><dir>/usr/share/fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`

const isExecutable = path => access(path, constants.X_OK).then(() => true, () => false)

// A browser that lacks a library is there and yet starts nothing.
const isWorking = path => run(path, ['--version'], { timeout: 30_000 }).then(() => true, () => false)

async function fromPath () {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  for (const path of [...folders.flatMap(folder => NAMES.map(name => join(folder, name))), ...PLACES]) {
    if (await isExecutable(path) && await isWorking(path)) return path
  }
}

async function fromDebian () {
  if (process.getuid?.() !== 0 || !await isExecutable('/usr/bin/apt-get')) throw new Error('needs root and apt-get')
  // Two test files may come here at once: the second waits for the first.
  const apt = (...args) => run('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=600', ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 64 << 20 })
  await apt('update')
  await apt('install', '-y', '--no-install-recommends', 'chromium')
  const path = await fromPath()
  if (path === undefined) throw new Error('installed, but it does not start')
  return path
}

// Chromium from npm, unpacked once, with the libraries and fonts that a bare machine lacks. It unpacks where TMPDIR
// points, file by file, so that a second process would take half a browser for a whole one: each unpacks for itself,
// and a rename makes it the one that stays.
async function fromPackage () {
  const cache = fileURLToPath(new URL('../node_modules/.cache/', import.meta.url))
  const home = join(cache, 'readyroom-chromium')
  const path = join(home, 'chromium.sh')
  if (!await isExecutable(path)) {
    await mkdir(cache, { recursive: true })
    const mine = await mkdtemp(join(cache, 'unpack-'))
    // The package unpacks its libraries only where it believes to run in the cloud it was made for.
    const before = { ...process.env }
    Object.assign(process.env, { TMPDIR: mine, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' })
    try {
      const { default: chromium } = await import('@sparticuz/chromium')
      await chromium.executablePath()
      await writeFile(join(mine, 'chromium.sh'), WRAPPER, { mode: 0o755 })
      await writeFile(join(mine, 'fonts/fonts.conf'), FONTS)
      await rename(mine, home).catch(err => { if (err.code !== 'ENOTEMPTY' && err.code !== 'EEXIST') throw err })
    } finally {
      process.env = before
      await rm(mine, { recursive: true, force: true })
    }
  }
  await run(path, ['--version'], { timeout: 30_000 })
  return path
}

const ways = {
  'a browser on the PATH': fromPath,
  "Debian's package": fromDebian,
  '@sparticuz/chromium': fromPackage
}

/**
 * The path of a Chromium that starts: the one that CHROMIUM_PATH or CHROME_PATH names, and no other, where one of them
 * is set; else the first that can be had. Rejects with every way that was tried and why it failed.
 */
export async function findChromium () {
  for (const name of ['CHROMIUM_PATH', 'CHROME_PATH']) {
    const path = process.env[name]
    if (!path) continue
    if (await isExecutable(path) && await isWorking(path)) return path
    throw new Error(`${name}: ${path} is no browser that starts. Correct it, or unset it to have one found.`)
  }
  const failures = []
  for (const [name, way] of Object.entries(ways)) {
    try {
      const path = await way()
      if (path !== undefined) return path
      failures.push(`${name}: none`)
    } catch (err) {
      failures.push(`${name}: ${err.stderr?.trim().split('\n').at(-1) || err.message}`)
    }
  }
  throw new Error(`No Chromium for the browser tests. Install one, or set CHROMIUM_PATH to its executable.\n  ${failures.join('\n  ')}`)
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  findChromium().then(path => process.stdout.write(`${path}\n`), err => {
    process.stderr.write(`${err.message}\n`)
    process.exitCode = 1
  })
}
