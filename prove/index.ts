// Tries to break what the product promises, for up to an hour, and prints what came of it. Exit code 1 on any loss.
//   npm run prove [-- name ...] [--short] [--seed N]
import { parseArgs } from 'node:util'
import type { Form, Run } from './harness'

const runs: Record<string, () => Promise<Run>> = {
  crash: async () => (await import('./crash')).crash,
  disk: async () => (await import('./disk')).disk,
  model: async () => (await import('./model')).model,
  election: async () => (await import('./election')).election,
  soak: async () => (await import('./soak')).soak,
  hostile: async () => (await import('./hostile')).hostile
}

const { values, positionals } = parseArgs({ options: { short: { type: 'boolean', default: false }, seed: { type: 'string' } }, allowPositionals: true })
const form: Form = values.short ? 'short' : 'long'
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const print = (line: string): void => { process.stdout.write(`${line}\n`) }

const unknown = positionals.filter(name => !(name in runs))
if (unknown.length > 0 || !Number.isSafeInteger(seed)) {
  process.stderr.write(`Usage: npm run prove [-- ${Object.keys(runs).join(' | ')}] [--short] [--seed N]\n`)
  process.exit(2)
}

// Who is asked to end ends the processes that it has started, too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

print(`seed ${seed}, ${form} form`)
let broken = 0
for (const [name, load] of Object.entries(runs)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  const start = performance.now()
  const run = await load()
  const proof = await run({ form, seed, say: line => { process.stderr.write(`${name}: ${line}\n`) } })
  print(`\n## ${name} (${((performance.now() - start) / 1_000).toFixed(0)} s)\n`)
  print('| what | figure |\n| --- | --- |')
  for (const [what, figure] of proof.figures) print(`| ${what} | ${figure} |`)
  for (const sentence of proof.broken) print(`BROKEN: ${sentence}`)
  broken += proof.broken.length
}
print(broken === 0 ? '\nNothing was lost.' : `\n${broken} promises were broken; the same seed makes the same run again.`)
process.exitCode = broken === 0 ? 0 : 1
