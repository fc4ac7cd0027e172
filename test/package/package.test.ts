import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import t from 'tap'
import { VERSION } from '../../lib/node/version'
import { command, emptyFolder, install, NODES, ROOT, tarball } from '../helpers/packed'
import { createWorld } from '../helpers/process'

/** How big the download may become before somebody looks at why, in bytes. */
const MAX_TARBALL = 1_300_000

const bundle = await tarball()
const folder = emptyFolder(t)
writeFileSync(join(folder, 'package.json'), '{ "private": true }')
const installed = await install(folder)
const home = join(folder, 'node_modules/readyroom')

t.test('one tarball is all there is to install: no dependency, nothing fetched, no script run', async t => {
  t.equal(installed.code, 0, installed.stderr)
  t.strictSame(readdirSync(join(folder, 'node_modules')).filter(name => !name.startsWith('.')), ['readyroom'])
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  t.notOk(manifest.dependencies)
  t.strictSame(manifest.peerDependenciesMeta, { fastify: { optional: true } })
  for (const script of ['preinstall', 'install', 'postinstall']) t.notOk(manifest.scripts[script], script)
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  t.strictSame(Object.keys(lock.packages), ['', 'node_modules/readyroom'])
})

t.test('it holds the bundle, its types, the page and the notices, and nothing of how it is made', async t => {
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(home.length + 1)).sort()
  t.strictSame(files, [
    'LICENSE', 'README.md', 'dist/THIRD-PARTY-NOTICES.txt', 'dist/core.mjs', 'dist/core.mjs.LEGAL.txt', 'dist/hook.mjs', 'dist/index.d.mts', 'dist/index.mjs',
    ...['admin', 'index', 'ui'].flatMap(page => ['', '.br', '.gz'].map(end => `dist/public/${page}.html${end}`)), 'dist/readyroom.mjs', 'dist/watch.mjs', 'package.json'
  ])
  const unpacked = files.reduce((sum, file) => sum + statSync(join(home, file)).size, 0)
  const { size } = statSync(bundle)
  t.comment(`readyroom ${VERSION}: ${(size / 1_000).toFixed(0)} kB packed, ${(unpacked / 1_000).toFixed(0)} kB unpacked`)
  t.ok(size < MAX_TARBALL, `${size} bytes packed`)
})

t.test('the notices name every package that is in the bundle, each with its licence', async t => {
  const notices = readFileSync(join(home, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  for (const name of ['fastify', '@fastify/static', '@fastify/sse', '@modelcontextprotocol/server', 'typebox', 'pino', '@noble/hashes', 'uuid', 'zod']) {
    const { version, license } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
    t.ok(notices.includes(`\n${name} ${version} (${license})\n`), name)
  }
  t.match(notices, /Permission is hereby granted/)
  t.match(notices, /Apache License/)
  t.notMatch(notices, /\n(?:esbuild|tap|typescript|playwright-core) \d/, 'and nothing that only builds or tests it')
})

t.test('publint has nothing to say', async t => {
  const file = readFileSync(bundle)
  const bytes = new Uint8Array(file).buffer
  const { messages, pkg } = await publint({ pack: { tarball: bytes }, strict: true })
  t.strictSame(messages.map(message => formatMessage(message, pkg)), [])
})

t.test('the types are found wherever an ES module is', async t => {
  const { code, stdout, stderr } = await command(process.execPath, [join(ROOT, 'node_modules/.bin/attw'), bundle, '--profile', 'esm-only', '--format', 'ascii'])
  t.equal(code, 0, stdout + stderr)
  for (const kind of ['node16 (from ESM)', 'bundler']) t.ok(stdout.includes(`${kind}: 🟢`), kind)
})

t.test('it runs on every Node at hand: its version, an exchange over MCP, and the plugin, with import and with require', async t => {
  for (const node of NODES) {
    const env = { PATH: `${dirname(node)}:${process.env['PATH']}` }
    const name = (await command(node, ['--version'])).stdout.trim()
    const version = await command('npx', ['--offline', '--no', '--', 'readyroom', '--version'], { cwd: folder, env })
    t.strictSame(version, { code: 0, stdout: `${VERSION}\n`, stderr: '' }, `${name} npx readyroom --version`)

    const world = await createWorld(t)
    const place = join(world.home, 'project')
    mkdirSync(place)
    const started = performance.now()
    const bin = join(folder, 'node_modules/.bin/readyroom')
    const running = world.startShell('exec "$NODE" "$BIN"', [], { env: { NODE: node, BIN: bin } })
    await running.initialize()
    const list = await running.request('tools/list', {})
    const cold = performance.now() - started
    t.equal((list.result?.['tools'] as unknown[]).length, 4)
    const { id, status } = await running.call('ask_human', { question: 'Ship it?' })
    t.equal(status, 'pending')
    t.match(await world.api('/api/answer', { id, answer: 'yes' }), { status: 200 })
    t.match(await running.call('wait_for_answer', { id }), { answer: 'HUMAN ANSWER: yes' })
    running.child.stdin!.end()
    t.match(await running.finished, { code: 0, stderr: /^(?!.*(?:rror|arning))/s }, running.stderr)
    t.comment(`${name}: ${cold.toFixed(0)} ms from start to the first tools/list`)

    const ways = [
      ['--input-type=module', "import r, { ReadyroomError } from 'readyroom'"],
      ['--input-type=commonjs', "const { default: r, ReadyroomError } = require('readyroom')"]
    ] as const
    for (const [flag, text] of ways) {
      const { code, stdout, stderr } = await command(node, [flag, '-e', `${text}; console.log(typeof r, ReadyroomError.name)`], { cwd: folder })
      t.strictSame({ code, stdout }, { code: 0, stdout: 'function ReadyroomError\n' }, `${name} ${flag} ${stderr}`)
    }
  }
})

t.test('it opens no door but the two that it names', async t => {
  for (const inside of ['readyroom/dist/core.mjs', 'readyroom/lib/desk']) {
    const { code, stderr } = await command(process.execPath, ['--input-type=module', '-e', `await import('${inside}')`], { cwd: folder })
    t.not(code, 0)
    t.match(stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/, inside)
  }
  const { stdout } = await command(process.execPath, ['-p', "require('readyroom/package.json').version"], { cwd: folder })
  t.equal(stdout, `${VERSION}\n`)
  t.notOk(existsSync(join(home, 'node_modules')))
})
