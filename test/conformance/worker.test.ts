import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { conforms, REVISIONS } from '../helpers/conformance'
import { startWorker, TOKEN } from '../helpers/worker'

/** The suite cannot send a token: this adds it on the way, and nothing else. */
async function withToken (t: Test, origin: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming
    const forwarded = request(new URL(url, origin), { method, headers: { ...headers, authorization: `Bearer ${TOKEN}` } }, answer => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const revision of REVISIONS) {
  t.test(`in workerd, everything that ${revision} asks of a server passes, but for what the baseline names`, async t => {
    const { origin } = await startWorker(t, { env: { READYROOM_ORIGIN_POLICY: 'spec' } })
    await conforms(t, `${await withToken(t, origin)}/mcp/client`, revision)
  })
}
