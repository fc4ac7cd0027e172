import { fileURLToPath } from 'node:url'
import { main } from './hook-main'

// What a machine runs that has this file and nothing else of Ready Room.
main(process.argv.slice(2), fileURLToPath(import.meta.url)).then(code => { process.exit(code) }, () => { process.exit(0) })
