import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { verifyAudit } from '../../lib/node/audit-verify'
import { ROOT } from '../helpers/room'
import { startWorker, TOKEN, type RunningWorker } from '../helpers/worker'
import { call, enqueue, post } from '../helpers/worker-client'

interface Ran { code: number, stdout: string, stderr: string }

async function run (args: string[], token: string | undefined = TOKEN, more: Record<string, string> = {}): Promise<Ran> {
  const env = { PATH: process.env['PATH'], ...(token !== '' && { READYROOM_TOKEN: token }), ...more }
  try {
    return { code: 0, ...await promisify(execFile)(process.execPath, [`${ROOT}scripts/export-audit.mjs`, ...args], { env }) }
  } catch (err) { return err as Ran }
}

/** A worker with a few lines of history, in text that tries an encoder. */
async function filled (t: Test): Promise<RunningWorker> {
  const worker = await startWorker(t)
  const id = await enqueue(worker, { context: 'quote " \u2028 \u007f \u{1F600} \ud800 \\u0041 ,"hash":"x"}' })
  await post(worker, '/api/answer', { id, answer: 'gr\u00fcn\u0000' })
  await call(worker, '/mcp', 'cancel_ticket', { id: await enqueue(worker) })
  return worker
}

t.test('an exported log verifies, and a second run adds what is new', async t => {
  const worker = await filled(t)
  const dir = t.testdir()
  const file = join(dir, 'audit.jsonl')
  t.match(await run([worker.origin, file]), { code: 0, stdout: /^4 new entries; the last is 4, with the hash [0-9a-f]{64}\n$/ })
  await enqueue(worker)
  const { stdout } = await run([worker.origin, file])
  const head = /^1 new entries; the last is 5, with the hash ([0-9a-f]{64})\n$/.exec(stdout)?.[1]
  t.ok(head, stdout)
  t.equal(readFileSync(file, 'utf8').split('\n').length, 6)
  t.match(await verifyAudit(dir, { head: head! }), { ok: true, entries: 5, noted: { seq: 5 } })
  t.match(await run([worker.origin, file]), { code: 0, stdout: /^0 new entries; the last is 5/ })
})

t.test('the folder of the copy is made, and both are the owner\'s alone', async t => {
  const worker = await filled(t)
  const file = join(t.testdir(), 'kept', 'backup', 'audit.jsonl')
  t.match(await run([worker.origin, file]), { code: 0, stdout: /^4 new entries/ })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
})

t.test('of a long copy only the end is read', async t => {
  const worker = await startWorker(t)
  await enqueue(worker)
  const file = join(t.testdir(), 'audit.jsonl')
  await run([worker.origin, file])
  const line = readFileSync(file, 'utf8')
  // A hole of a gigabyte, which no text can hold.
  const copy = await open(file, 'r+')
  await copy.write(`\n${line}`, 1_073_741_824)
  await copy.close()
  await enqueue(worker)
  t.match(await run([worker.origin, file]), { code: 0, stdout: /^1 new entries; the last is 2/ })
})

t.test('a login in front is said to be one, and passed with a service token', async t => {
  const worker = await filled(t)
  const front = createServer(async ({ url, headers }, response) => {
    if (headers['cf-access-client-id'] !== 'the id' || headers['cf-access-client-secret'] !== 'the secret') {
      return response.writeHead(302, { location: 'https://login.invalid/' }).end('<p>Log in')
    }
    const answer = await fetch(new URL(url!, worker.origin), { headers: { authorization: headers.authorization! } })
    response.writeHead(answer.status).end(await answer.text())
  })
  t.teardown(() => front.close())
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const address = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  const file = join(t.testdir(), 'audit.jsonl')
  t.match(await run([address, file]), { code: 1, stderr: /answered by something else \(302\).+CF_ACCESS_CLIENT_ID/ })
  const access = { CF_ACCESS_CLIENT_ID: 'the id', CF_ACCESS_CLIENT_SECRET: 'the secret' }
  t.match(await run([address, file], TOKEN, access), { code: 0, stdout: /^4 new entries/ })
})

t.test('a copy of another queue, half a line, a wrong token and no token are said', async t => {
  const worker = await filled(t)
  const file = join(t.testdir(), 'audit.jsonl')
  writeFileSync(file, `${JSON.stringify({ seq: 1, hash: 'f'.repeat(64) })}\n`)
  t.match(await run([worker.origin, file]), { code: 1, stderr: /of different queues/ })
  writeFileSync(file, '{"seq":1')
  t.match(await run([worker.origin, file]), { code: 1, stderr: /half a line/ })
  writeFileSync(file, '')
  t.match(await run([worker.origin, file], 'wrong'), { code: 1, stderr: /401 UNAUTHORIZED/ })
  t.match(await run([worker.origin, file], ''), { code: 2, stderr: /^Usage/ })
  t.match(await run(['not a url', file]), { code: 2, stderr: /^Usage/ })
  t.equal(readFileSync(file, 'utf8'), '')
})
