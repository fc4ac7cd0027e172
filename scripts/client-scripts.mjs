// Bundles what runs on an agent's machine: two files that anybody can read, with nothing beside them, for whatever Node is there.
//   node scripts/client-scripts.mjs FOLDER   writes them there as texts, for a bundler that takes them in as such
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
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

/** Whoever reads them meanwhile finds the old text or the new one; where it is the same, nothing is touched. */
async function writeTexts (folder) {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(await clientScripts())) {
    const path = `${folder}/${name}.txt`
    if (await readFile(path, 'utf8').catch(() => undefined) === text) continue
    await writeFile(`${path}.${process.pid}`, text)
    await rename(`${path}.${process.pid}`, path)
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('Name the folder that the texts go into.')
  await writeTexts(folder)
}
