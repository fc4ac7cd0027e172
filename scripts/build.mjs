// Bundles the command line into one file and puts the page beside it, so that
// `npx readyroom` installs one package and resolves nothing at run time.
//   node scripts/build.mjs [--meta]   --meta also writes dist/meta.json for bundle analysis
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'

const root = new URL('../', import.meta.url)
const path = name => new URL(name, root).pathname
const { version } = JSON.parse(await readFile(path('package.json'), 'utf8'))

// Dependencies that are CommonJS inside need what an ES module does not have.
const banner = [
  '#!/usr/bin/env node',
  "import { createRequire as __createRequire } from 'node:module'",
  "import { dirname as __pathDirname } from 'node:path'",
  "import { fileURLToPath as __toPath } from 'node:url'",
  'const require = __createRequire(import.meta.url)',
  'const __filename = __toPath(import.meta.url)',
  'const __dirname = __pathDirname(__filename)'
].join('\n')

await rm(path('dist'), { recursive: true, force: true })
await mkdir(path('dist/public'), { recursive: true })

const { metafile } = await build({
  entryPoints: { readyroom: path('cli.ts') },
  outdir: path('dist'),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  minify: true,
  keepNames: true,
  legalComments: 'external',
  loader: { '.html': 'text' },
  define: { READYROOM_VERSION: JSON.stringify(version) },
  banner: { js: banner },
  logLevel: 'warning',
  metafile: true
})
await chmod(path('dist/readyroom.mjs'), 0o755)
if (process.argv.includes('--meta')) await writeFile(path('dist/meta.json'), JSON.stringify(metafile))

const page = await readFile(path('public/index.html'))
await writeFile(path('dist/public/index.html'), page)
await writeFile(path('dist/public/index.html.gz'), await promisify(gzip)(page, { level: 9 }))
await writeFile(path('dist/public/index.html.br'), await promisify(brotliCompress)(page, {
  params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_SIZE_HINT]: page.length }
}))
