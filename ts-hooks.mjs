// Lets Node run this tree as it is written: type stripping does the TypeScript,
// these hooks add the two things it leaves out. An import without an extension
// finds its .ts file, and an .html file is imported as text, as esbuild does it.
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const candidates = ['.ts', '/index.ts']

registerHooks({
  resolve (specifier, context, next) {
    if (/^\.{1,2}\//.test(specifier) && context.parentURL?.startsWith('file:')) {
      for (const suffix of candidates) {
        const url = new URL(specifier + suffix, context.parentURL)
        if (existsSync(url)) return next(url.href, context)
      }
    }
    return next(specifier, context)
  },
  load (url, context, next) {
    if (!url.endsWith('.html')) return next(url, context)
    const text = readFileSync(fileURLToPath(url), 'utf8')
    return { format: 'module', shortCircuit: true, source: `export default ${JSON.stringify(text)}` }
  }
})
