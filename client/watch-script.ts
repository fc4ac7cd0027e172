import { fileURLToPath } from 'node:url'
import { main } from './watch-main'

// What a machine runs that has this file and nothing else of Ready Room.
main(process.argv.slice(2), fileURLToPath(import.meta.url)).then(code => { process.exit(code) }, err => {
  process.stderr.write(`readyroom watch: ${(err as Error).message}\n`)
  process.exit(1)
})
