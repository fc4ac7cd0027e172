// Bundles the command line and the plugin into one file and puts the page beside it, so that `npx readyroom` installs one
// package and resolves nothing at run time.
//   node scripts/build.mjs [--meta]   --meta also writes dist/meta.json for bundle analysis
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'
import { clientScripts } from './client-scripts.mjs'
import { noticesOf } from './notices.mjs'

const root = new URL('../', import.meta.url)
const path = name => new URL(name, root).pathname
const { version } = JSON.parse(await readFile(path('package.json'), 'utf8'))

// Dependencies that are CommonJS inside need what an ES module does not have.
const banner = [
  "import { createRequire as __createRequire } from 'node:module'",
  "import { dirname as __pathDirname } from 'node:path'",
  "import { fileURLToPath as __toPath } from 'node:url'",
  'const require = __createRequire(import.meta.url)',
  'const __filename = __toPath(import.meta.url)',
  'const __dirname = __pathDirname(__filename)'
].join('\n')

await rm(path('dist'), { recursive: true, force: true })
await mkdir(path('dist/public'), { recursive: true })

// Node's own modules are asked for where they are used. As imports they would all be loaded before the first line runs,
// each with whatever its exports lead to: that of node:http is another HTTP client, 30 ms of a start.
const builtins = {
  name: 'builtins',
  setup ({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path: name, kind }) => {
      if (kind === 'entry-point' || !isBuiltin(name)) return undefined
      return { path: name.replace(/^node:/, ''), namespace: 'builtin' }
    })
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path: name }) =>
      ({ contents: `module.exports = process.getBuiltinModule(${JSON.stringify(`node:${name}`)})` }))
  }
}

const how = {
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  minify: true,
  keepNames: true,
  logLevel: 'warning',
  metafile: true,
  plugins: [builtins]
}

// The thread of the rooms is a text in the bundle.
const thread = await build({ ...how, entryPoints: [path('lib/node/room/thread.ts')], write: false })

// What runs on an agent's machine, as files and in the bundle, which hands them out.
const scripts = await clientScripts()
for (const [name, text] of Object.entries(scripts)) await writeFile(path(`dist/${name}.mjs`), text, { mode: 0o755 })

// Both doors open into the one file: what they share is there once, and a process that has started never reads a further
// file, which an upgrade under its feet could have taken away. Each part runs only when it is asked for.
const { metafile } = await build({
  ...how,
  stdin: {
    contents: "export const cli = () => import('./cli'); export const plugin = () => require('./index')",
    resolveDir: path('.'),
    sourcefile: 'core.ts',
    loader: 'ts'
  },
  outfile: path('dist/core.mjs'),
  legalComments: 'external',
  loader: { '.html': 'text' },
  // Its other form asks for its own files by a require that no bundler sees.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  define: { READYROOM_VERSION: JSON.stringify(version), READYROOM_ROOM_THREAD: JSON.stringify(thread.outputFiles[0].text), ...inBundle(scripts) },
  banner: { js: banner }
})
if (process.argv.includes('--meta')) await writeFile(path('dist/meta.json'), JSON.stringify(metafile))
await writeFile(path('dist/THIRD-PARTY-NOTICES.txt'), await noticesOf(bothOf(metafile, thread.metafile), path('.')))

// A small file of its own, since what enables the cache of compiled code cannot be kept in it itself.
await build({
  ...how,
  stdin: {
    contents: [
      "import { keepCompiled } from './lib/node/compile-cache'",
      'keepCompiled({ args: process.argv.slice(2) })',
      "const { cli } = await import('./core.mjs')",
      'await cli()'
    ].join('\n'),
    resolveDir: path('.'),
    sourcefile: 'door.ts',
    loader: 'ts'
  },
  external: ['./core.mjs'],
  outfile: path('dist/readyroom.mjs'),
  banner: { js: '#!/usr/bin/env node' }
})
await chmod(path('dist/readyroom.mjs'), 0o755)

// No `await` at its top, so that `require('readyroom')` works where Node can require an ES module.
const names = await exportsOf(path('index.ts'))
const values = names.filter(name => name !== 'default')
await writeFile(path('dist/index.mjs'), [
  "import { plugin } from './core.mjs'",
  `const { default: readyroom, ${values.join(', ')} } = plugin()`,
  `export { readyroom as default, ${values.join(', ')} }`, ''
].join('\n'))

for (const name of ['index.html', 'ui.html', 'admin.html']) {
  const page = await readFile(path(`public/${name}`))
  await writeFile(path(`dist/public/${name}`), page)
  await writeFile(path(`dist/public/${name}.gz`), await promisify(gzip)(page, { level: 9 }))
  await writeFile(path(`dist/public/${name}.br`), await promisify(brotliCompress)(page, {
    params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_SIZE_HINT]: page.length }
  }))
}

/** What the bundle finds of the files that it hands out. */
function inBundle ({ hook, watch }) {
  return { READYROOM_HOOK_SCRIPT: JSON.stringify(hook), READYROOM_WATCH_SCRIPT: JSON.stringify(watch) }
}

/** What two bundles are made of. */
function bothOf (one, other) {
  return { inputs: { ...one.inputs, ...other.inputs }, outputs: { ...one.outputs, ...other.outputs } }
}

/** The names that a module exports, types left out. */
async function exportsOf (entry) {
  const { metafile } = await build({ entryPoints: [entry], outdir: path('dist'), write: false, format: 'esm', metafile: true })
  return Object.values(metafile.outputs)[0].exports
}
