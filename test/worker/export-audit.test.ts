import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { verifyAudit } from '../../lib/node/audit-verify'
import { ROOT } from '../helpers/room'
import { startWorker, TOKEN, type RunningWorker } from '../helpers/worker'
import { call, enqueue, post } from '../helpers/worker-client'

interface Ran { code: number, stdout: string, stderr: string }

async function run (args: string[], token: string | undefined = TOKEN): Promise<Ran> {
  const env = { PATH: process.env['PATH'], ...(token !== '' && { READYROOM_TOKEN: token }) }
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
