import { appendFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Desk } from '../../../../lib/desk'
import { OWNER } from '../../../../lib/principal'
import { audit, type AuditOptions } from '../../../../lib/node/commands/audit'
import { FileTicketStore } from '../../../../lib/node/file-store'
import { testFolder } from '../../../helpers/folder'

interface Said { code: number, text: string, notes: string[] }

/** Runs the command on a folder; `takes` says how many writes the reader takes before it leaves. */
async function said (stateDir: string, options: Partial<AuditOptions> = {}, takes = Infinity): Promise<Said> {
  let text = ''
  const notes: string[] = []
  const code = await audit({
    stateDir,
    json: false,
    verify: false,
    note: message => { notes.push(message) },
    out: { write: async more => { text += more; return --takes > 0 } },
    ...options
  })
  return { code, text, notes }
}

t.test('every kind of entry is one line that tells what happened', async t => {
  const dir = testFolder(t)
  const store = new FileTicketStore({ dir, instance: 'i' })
  await store.load()
  let now = Date.parse('2026-01-31T09:30:00.000Z')
  const desk = await new Desk(store, { now: () => now }).open()
  const ask = async (question: string, more: object = {}): Promise<string> => (await desk.ask({ stream: 'alpha', question, ...more })).id
  const one = await ask('Which?')
  await desk.answer(one, 'this', OWNER, 'Lea\u202e')
  await desk.undo(one, OWNER)
  await desk.cancel(one)
  await ask('Default?', { default_answer: 'yes', timeout_seconds: 1 })
  await ask('None?', { timeout_seconds: 1 })
  now += 5_000
  await desk.list()
  await store.close()

  const { code, text } = await said(dir)
  t.equal(code, 0)
  t.strictSame(text.trimEnd().split('\n').map(line => line.replace(/^ *\d+ {2}\S+ {2}/, '')).sort(), [
    'answered   alpha  "Which?" -> "this" (Lea)',
    'cancelled  alpha  "Which?"',
    'enqueued   alpha  "Default?"',
    'enqueued   alpha  "None?"',
    'enqueued   alpha  "Which?"',
    'expired    alpha  "Default?" -> "yes" (default)',
    'expired    alpha  "None?" -> no answer',
    'undone     alpha  "Which?"'
  ])
  t.match(await said(dir, { since: '2026-01-31T09:30:01.000Z' }), { code: 0, text: /^(?: +\d+ {2}\S+ {2}expired.*\n){2}$/ })
  t.match(await said(dir, { verify: true }), { code: 0, text: /The audit log holds\.[^]*entries {2}8, each in its place/ })

  appendFileSync(join(dir, 'audit.jsonl'), '{"seq":9')
  t.match(await said(dir, { verify: true }), { code: 0, text: /unfinished {2}8 bytes behind the last entry/ })
  appendFileSync(join(dir, 'audit.jsonl'), '\n')
  t.match(await said(dir, { verify: true }), { code: 1, text: /The audit log does not hold\.[^]*8 hold, from the first on[^]*line 9 / })
  const broken = await said(dir)
  t.equal(broken.code, 1)
  t.equal(broken.text.split('\n').length, 9, 'what could be read is there')
  t.match(broken.notes, [/Line 9 of .*audit\.jsonl cannot be read/])
})

t.test('a reader that leaves is not written to any more', async t => {
  const dir = testFolder(t)
  const store = new FileTicketStore({ dir, instance: 'i' })
  await store.load()
  const desk = await new Desk(store).open()
  for (let i = 0; i < 3; i++) await desk.ask({ stream: 'alpha', question: 'q', context: 'x'.repeat(65_000) })
  await store.close()
  const { code, text } = await said(dir, { json: true }, 1)
  t.equal(code, 0)
  t.equal(text.trimEnd().split('\n').length, 1)
})

t.test('no log is nothing to read, and nothing that could be called checked', async t => {
  const dir = testFolder(t)
  t.match(await said(dir), { code: 0, text: '', notes: [/no audit log at .*audit\.jsonl.*READYROOM_STATE_DIR/] })
  t.match(await said(dir, { verify: true }), { code: 1, text: '', notes: [/no audit log/] })
  t.strictSame(await said(dir, { verify: true, json: true }), { code: 1, text: `${JSON.stringify({ path: join(dir, 'audit.jsonl'), ok: false, missing: true })}\n`, notes: [] })
})

t.test('a log that cannot be read is not called missing', async t => {
  const dir = testFolder(t, { file: '' })
  await t.rejects(said(join(dir, 'file')), { name: 'RefusedError', message: /file\/audit\.jsonl cannot be read: .*\(ENOTDIR\).*READYROOM_STATE_DIR/ })
  symlinkSync('audit.jsonl', join(dir, 'audit.jsonl'))
  await t.rejects(said(dir, { verify: true, json: true }), { message: /\(ELOOP\)/ })
})
