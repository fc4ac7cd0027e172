// Bundles the types of the published package into dist/index.d.mts. They lean on Fastify and on Node's own types, which
// whoever registers the plugin has, and on nothing else: what TypeBox derives from a schema is written out.
//   node scripts/build-types.mjs
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'

const root = new URL('../', import.meta.url).pathname

/** What the compiler says of the sources, as declarations in `outDir`. @throws Error naming what it cannot say */
function emitDeclarations (outDir) {
  const { options } = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.json'), {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail })
  const program = ts.createProgram([join(root, 'index.ts')], {
    ...options, noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true, outDir, rootDir: root
  })
  const { diagnostics } = program.emit()
  for (const diagnostic of diagnostics) fail(diagnostic)
  return program
}

function fail (diagnostic) {
  throw new Error(ts.formatDiagnostic(diagnostic, { getCanonicalFileName: name => name, getCurrentDirectory: () => root, getNewLine: () => '\n' }))
}

/** One module of schemas: each type as the object it is, each schema as JSON Schema. */
function flatten (program, source) {
  const checker = program.getTypeChecker()
  const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope
  return checker.getExportsOfModule(checker.getSymbolAtLocation(source)).map(symbol => {
    const name = symbol.getName()
    if (symbol.flags & ts.SymbolFlags.TypeAlias) {
      return `export type ${name} = ${checker.typeToString(checker.getDeclaredTypeOfSymbol(symbol), undefined, flags)}`
    }
    return `export declare const ${name}: Readonly<Record<string, unknown>>`
  }).join('\n') + '\n'
}

const folder = await mkdtemp(join(root, 'dist/types-'))
try {
  const program = emitDeclarations(folder)
  for (const source of program.getSourceFiles()) {
    const path = source.fileName
    if (path.startsWith(join(root, 'schemas/')) && path.endsWith('.ts')) await writeFile(join(folder, 'schemas', basename(path, '.ts') + '.d.ts'), flatten(program, source))
  }
  const bundle = await rollup({
    input: join(folder, 'index.d.ts'),
    external: id => !/^[./]/.test(id),
    plugins: [dts({ tsconfig: join(root, 'tsconfig.json') })],
    onwarn: warning => { throw new Error(warning.message) }
  })
  await bundle.write({ file: join(root, 'dist/index.d.mts') })
  await bundle.close()
} finally {
  await rm(folder, { recursive: true, force: true })
}

const text = await readFile(join(root, 'dist/index.d.mts'), 'utf8')
const outside = new Set([...text.matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g)].map(([, a, b]) => a ?? b))
for (const name of outside) {
  if (name !== 'fastify' && !name.startsWith('node:')) throw new Error(`dist/index.d.mts leans on ${name}, which a user does not have`)
}
