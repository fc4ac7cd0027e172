import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

interface Layer { files: RegExp, may: RegExp[], never: RegExp[] }

/** Who may import whom: from the words outwards. A file belongs to the first layer that matches it. */
const LAYERS: Record<string, Layer> = {
  schemas: { files: /^schemas\//, may: [/^schemas\//], never: [/^node:/, /^fastify/, /^@fastify\//, /^cloudflare:/, /^@modelcontextprotocol\//] },
  // What runs on an agent's machine is a file by itself.
  client: { files: /^client\//, may: [/^client\//], never: [/^(?!node:)/] },
  'lib/node': { files: /^lib\/node\//, may: [/^schemas\//, /^lib\//, /^client\/(?:versions|variables)$/], never: [/^fastify/, /^@fastify\//, /^cloudflare:/] },
  lib: { files: /^lib\//, may: [/^schemas\//, /^lib\/(?!node\/)/], never: [/^node:/, /^fastify/, /^@fastify\//, /^cloudflare:/, /^pino/] },
  plugins: { files: /^plugins\//, may: [/^schemas\//, /^lib\//, /^plugins\//], never: [/^cloudflare:/] },
  worker: { files: /^worker\//, may: [/^schemas\//, /^lib\/(?!node\/)/, /^worker\//, /^public\//, /^client\/versions$/, /^package\.json$/], never: [/^fastify/, /^@fastify\//] },
  entries: { files: /^[^/]+\.ts$/, may: [/^schemas\//, /^lib\//, /^plugins\//, /^worker\//, /^client\/(?:hook|watch)-main$/, /^[^/]+$/], never: [] }
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^'"]*?\bfrom\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g

/** Every import of a file that its layer does not allow, as `what -> whom`. */
function trespasses (file: string, text: string): string[] {
  const [name, layer] = Object.entries(LAYERS).find(([, { files }]) => files.test(file))!
  return Array.from(text.matchAll(IMPORT), ([, a, b, c]) => (a ?? b ?? c)!).flatMap(to => {
    const inside = to.startsWith('.')
    const target = inside ? relative(root, join(root, file, '..', to)) : to
    const allowed = inside ? layer.may.some(rule => rule.test(target)) : !layer.never.some(rule => rule.test(target))
    return allowed ? [] : [`${name}: ${file} -> ${target}`]
  })
}

const SOURCES = globSync(['*.ts', '{schemas,client,lib,plugins,worker}/**/*.ts'], { cwd: root }).map(file => file.replaceAll('\\', '/'))

t.test('imports point one way: schemas, lib, lib/node, plugins or worker, entry points', async t => {
  t.ok(SOURCES.length > 50, `${SOURCES.length} files`)
  for (const file of SOURCES) t.strictSame(trespasses(file, readFileSync(join(root, file), 'utf8')), [], file)
})

t.test('an import that points the wrong way is found by name', async t => {
  const table: Array<[string, string, string]> = [
    ['lib/desk.ts', "import { join } from 'node:path'", 'lib: lib/desk.ts -> node:path'],
    ['lib/desk.ts', "import {\n  a,\n  b\n} from './node/disk'", 'lib: lib/desk.ts -> lib/node/disk'],
    ['lib/desk.ts', "import type { FastifyRequest } from 'fastify'", 'lib: lib/desk.ts -> fastify'],
    ['lib/node/disk.ts', "export { x } from '../../plugins/store'", 'lib/node: lib/node/disk.ts -> plugins/store'],
    ['lib/node/disk.ts', "import fp from 'fastify-plugin'", 'lib/node: lib/node/disk.ts -> fastify-plugin'],
    ['schemas/ticket.ts', "import { ERRORS } from '../lib/errors'", 'schemas: schemas/ticket.ts -> lib/errors'],
    ['plugins/auth.ts', "import '../app'", 'plugins: plugins/auth.ts -> app'],
    ['plugins/auth.ts', "const later = await import('../worker/router')", 'plugins: plugins/auth.ts -> worker/router'],
    ['client/hook.ts', "import { ERRORS } from '../lib/errors'", 'client: client/hook.ts -> lib/errors'],
    ['client/hook.ts', "import pino from 'pino'", 'client: client/hook.ts -> pino'],
    ['worker/router.ts', "import auth from '../plugins/auth'", 'worker: worker/router.ts -> plugins/auth']
  ]
  for (const [file, text, found] of table) t.strictSame(trespasses(file, text), [found])
})

t.test('imports of ours carry no extension', async t => {
  for (const file of SOURCES) t.notMatch(readFileSync(join(root, file), 'utf8'), /from '\.{1,2}\/[^']+\.(?:js|ts)'/, file)
})
