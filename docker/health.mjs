// Whether Ready Room answers in this container. Not with fetch, which takes longer to load than all the rest.
import { get } from 'node:http'

const { READYROOM_BIND: bind = '', READYROOM_PORT: port = '' } = process.env
const host = ['', '0.0.0.0', '::'].includes(bind.trim()) ? '127.0.0.1' : bind.trim()

get({ host, port: port.trim() || 8971, path: '/healthz', timeout: 9_000 }, response => {
  process.exit(response.statusCode === 200 && response.headers['x-readyroom'] !== undefined ? 0 : 1)
}).on('timeout', () => process.exit(1)).on('error', err => {
  process.stdout.write(`${err.message}\n`)
  process.exit(1)
})
