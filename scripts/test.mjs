// Runs the test suites, one after the other, and sums them up.
//   node scripts/test.mjs [suite ...]   all of them where none is named
// A suite that cannot run counts as a failure. The last line is `N passed, N failed`.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { aside } from './suites-aside.mjs'

// Nothing here needs the network: wrangler neither reports nor looks anything up.
process.env.WRANGLER_SEND_METRICS = 'false'
process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false'

const root = new URL('../', import.meta.url).pathname
const reports = `${root}reports`

const run = (command, args, env = {}) => new Promise(resolve => {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } })
  child.on('error', err => { process.stdout.write(`${command}: ${err.message}\n`); resolve(127) })
  child.on('close', (code, signal) => resolve(signal ? 128 : code))
})

/** A tool that says yes or no. */
const check = (command, ...args) => async () => {
  const failed = await run(command, args) === 0 ? 0 : 1
  return { passed: 1 - failed, failed }
}

/** Test files, by what stands under `test/`. Counts assertions, from the raw protocol that tap leaves in a file. */
const tap = (name, { folders, jobs, timeout = 120 }) => async () => {
  // The list of plugins in .taprc differs from tap's own: its test class is put together once for each installation.
  if (!existsSync(`${root}node_modules/.tap-built`)) {
    if (await run('tap', ['build']) !== 0) return { passed: 0, failed: 1 }
    writeFileSync(`${root}node_modules/.tap-built`, '')
  }
  const report = `${reports}/${name}.tap`
  // The name of a folder alone matches no file of it.
  const patterns = folders.map(folder => folder.endsWith('.ts') ? folder : `${folder}/**/*.test.ts`)
  // Where nobody watches, the reporter prints its last picture only, as it does under continuous integration.
  const quiet = process.stdout.isTTY ? {} : { CI: 'true' }
  const code = await run('tap', ['run', '--reporter=terse', `--jobs=${jobs}`, `--timeout=${timeout}`, `--output-file=${report}`, ...patterns], quiet)
  const totals = existsSync(report) ? [...readFileSync(report, 'utf8').matchAll(/^# \{ (total: .*) \}$/gm)].at(-1)?.[1] ?? '' : ''
  const count = key => Number(new RegExp(`\\b${key}: (\\d+)`).exec(totals)?.[1] ?? 0)
  const passed = count('pass')
  const failed = count('fail') + count('skip') + count('todo')
  // Nothing counted, or a runner that failed without a failed assertion, is a failure all the same.
  return { passed, failed: failed > 0 ? failed : code === 0 && passed > 0 ? 0 : 1 }
}

const suites = {
  lint: check('eslint', '.'),
  types: check('tsc', '-p', '.'),
  // Beside the rest, because these alone may speak of a document.
  'browser-types': check('tsc', '-p', 'test/browser'),
  // The Worker has no Node, and its runtime's own types.
  'worker-types': check('tsc', '-p', 'worker'),
  unit: tap('unit', { jobs: 2, folders: ['test/*.test.ts', 'test/lib', 'test/client', 'test/plugins', 'test/schemas', 'test/scripts'].filter(f => f.includes('*') || existsSync(root + f)) }),
  // In real workerd, offline; first what would be uploaded, with its size.
  'worker-build': check('wrangler', 'deploy', '--dry-run', '--outdir', 'dist/worker'),
  worker: tap('worker', { jobs: 2, folders: ['test/worker'] }),
  conformance: tap('conformance', { jobs: 1, folders: ['test/conformance'] }),
  browser: tap('browser', { jobs: 2, folders: ['test/browser'] }),
  build: check('node', 'scripts/build.mjs'),
  acceptance: tap('acceptance', { jobs: 2, folders: ['test/acceptance'] }),
  // What would be published, installed where there is nothing else.
  pack: check('npm', 'pack', '--silent', '--pack-destination', 'reports'),
  package: tap('package', { jobs: 1, timeout: 300, folders: ['test/package'] }),
  // The short forms of `npm run prove`, against what was built.
  prove: tap('prove', { jobs: 2, folders: ['test/prove'] })
}

/** Run when it is asked for by name, and where it can be. */
const unless = (name, { why, folders }) => async () => {
  const reason = await why()
  if (reason === undefined) return tap(name, { jobs: 1, timeout: 900, folders })()
  process.stdout.write(`skipped: ${reason}\n`)
  return { passed: 0, failed: 0 }
}
const onRequest = Object.fromEntries(Object.entries(aside).map(([name, suite]) => [name, unless(name, suite)]))

const asked = process.argv.slice(2)
const all = { ...suites, ...onRequest }
const unknown = asked.filter(name => !(name in all))
if (unknown.length > 0) {
  process.stderr.write(`Unknown suite ${unknown.join(', ')}; there are ${Object.keys(all).join(', ')}.\n`)
  process.exit(2)
}

await rm(reports, { recursive: true, force: true })
mkdirSync(reports)
const sum = { passed: 0, failed: 0 }
for (const name of asked.length > 0 ? asked : Object.keys(suites)) {
  const start = performance.now()
  process.stdout.write(`\n== ${name}\n`)
  const { passed, failed } = await all[name]()
  process.stdout.write(`\n${name}: ${passed} passed, ${failed} failed (${((performance.now() - start) / 1000).toFixed(1)} s)\n`)
  sum.passed += passed
  sum.failed += failed
}
process.stdout.write(`\n${sum.passed} passed, ${sum.failed} failed\n`)
process.exitCode = sum.failed === 0 ? 0 : 1
