// Bundles what runs on an agent's machine: two files that anybody can read, with nothing beside them, for whatever Node is there.
import { build } from 'esbuild'

const root = new URL('../', import.meta.url)

/** The texts of `hook.mjs` and `watch.mjs`. */
export async function clientScripts () {
  const texts = await Promise.all(['hook', 'watch'].map(async name => {
    const { outputFiles } = await build({
      entryPoints: [new URL(`client/${name}-script.ts`, root).pathname],
      bundle: true,
      platform: 'node',
      target: 'node18',
      format: 'esm',
      charset: 'utf8',
      logLevel: 'warning',
      banner: { js: `#!/usr/bin/env node\n// Ready Room, ${name}: for Node 18 and later, with nothing beside this file.` },
      write: false
    })
    return outputFiles[0].text
  }))
  return { hook: texts[0], watch: texts[1] }
}
