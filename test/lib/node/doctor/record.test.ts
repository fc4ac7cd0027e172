import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FileTicketStore } from '../../../../lib/node/file-store'
import { decide, START } from '../../../helpers/decisions'
import { healthy, illnesses, type Ward } from '../../../helpers/scene'

/** A machine with a queue that was closed in good order. */
async function kept (t: Test): Promise<Ward & { log: string }> {
  const ward = await healthy(t)
  const store = new FileTicketStore({ dir: ward.stateDir, instance: 'test', now: () => START })
  await store.load()
  for (let i = 1; i <= 5; i++) await store.commit(decide(`ticket ${i}`, {}, i))
  await store.close()
  return { ...ward, log: join(ward.stateDir, 'audit.jsonl') }
}

t.test('a queue that was closed in good order is well, with or without the chain', async t => {
  const { scene } = await kept(t)
  t.strictSame(await illnesses(scene), [])
  t.strictSame(await illnesses({ ...scene, quick: true }), [])
})

t.test('a line that was changed breaks the chain, which --quick does not see', async t => {
  const { scene, log } = await kept(t)
  writeFileSync(log, readFileSync(log, 'utf8').replace('ticket 3', 'ticket 9'))
  t.match(await illnesses(scene), [/^fail audit: Line 3 of .*audit\.jsonl does not match its own hash: .*changed\. -> readyroom audit --verify/])
  t.strictSame(await illnesses({ ...scene, quick: true }), [])
})

t.test('a chain that takes too long is said to be looked at in part', async t => {
  const { scene } = await kept(t)
  t.match(await illnesses({ ...scene, auditTime: () => AbortSignal.abort() }), [/^warn audit: 0 entries hold; the rest was not looked at.* -> readyroom audit --verify$/])
})

t.test('a log that lost its end is found by its snapshot', async t => {
  const { scene, log } = await kept(t)
  truncateSync(log, readFileSync(log, 'utf8').lastIndexOf('\n', readFileSync(log).length - 2) + 1)
  t.match(await illnesses(scene), [/^fail snapshot: tickets\.json covers more of the audit log than is there: \d+ bytes .* -> End Ready Room, and put back/])
})

t.test('a snapshot that cannot be used is no loss, and said', async t => {
  const { scene, stateDir } = await kept(t)
  truncateSync(join(stateDir, 'tickets.json'), 100)
  t.match(await illnesses(scene), [/^warn snapshot: tickets\.json cannot be used: it .*no ticket is lost/])
})

t.test('a log that has grown far beyond its snapshot makes the next start slow', async t => {
  const { scene, log } = await kept(t)
  const line = `${JSON.stringify({ filler: 'x'.repeat(1_000_000) })}\n`
  for (let i = 0; i < 70; i++) appendFileSync(log, line)
  t.match(await illnesses({ ...scene, quick: true }), [/^warn snapshot: 67 MiB of the log came after the snapshot .* -> readyroom stop$/])
})

t.test('a clock behind the last entry is warned about, and fails when it is far behind', async t => {
  const { scene } = await kept(t)
  const at = (ms: number) => illnesses({ ...scene, quick: true, now: () => START + 5 + ms })
  t.strictSame(await at(0), [])
  t.strictSame(await at(-1_000), [])
  t.match(await at(-30_000), [/^warn clock: The clock is 30 s behind the last entry of the audit log/])
  t.match(await at(-3_600_000), [/^fail clock: The clock is 3,600 s behind .* -> /])
})
