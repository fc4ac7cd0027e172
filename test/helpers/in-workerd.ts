import { build, type Plugin } from 'esbuild'
import type { Module } from './worker'
import { ROOT } from './room'

/** The comparison that tap makes brings a printer of React elements, by `require`. Nothing here is such an element. */
const withoutReact: Plugin = {
  name: 'without-react',
  setup ({ onResolve, onLoad }) {
    onResolve({ filter: /^module$/ }, ({ path }) => ({ path, namespace: 'without-react' }))
    onLoad({ filter: /.*/, namespace: 'without-react' }, () => ({ contents: 'export const createRequire = () => () => ({})' }))
  }
}

/** A module of the tests as one file that workerd can run, with the objects of the Worker that it needs beside it. */
export async function bundleForWorkerd (file: string, objects: readonly string[] = []): Promise<Module[]> {
  const { outputFiles } = await build({
    stdin: { contents: [`export { default } from './${file}'`, ...[file, ...objects].map(name => `export * from './${name}'`)].join('\n'), resolveDir: ROOT },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers'],
    plugins: [withoutReact],
    logLevel: 'warning'
  })
  return [{ type: 'ESModule', path: 'index.js', contents: outputFiles[0]!.text }]
}
