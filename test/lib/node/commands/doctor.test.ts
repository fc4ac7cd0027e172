import t from 'tap'
import { doctor, type DoctorOptions } from '../../../../lib/node/commands/doctor'
import type { DoctorReport } from '../../../../schemas/doctor'

const REPORT: DoctorReport = {
  ok: false,
  checks: [
    { id: 'node', status: 'ok', message: 'Node 24' },
    { id: 'folder-modes', status: 'warn', message: 'Others\u001b[2J can', fix: 'readyroom doctor --fix' },
    { id: 'port', status: 'fail', message: 'Held', fix: 'ss' }
  ]
}

async function said (more: Partial<DoctorOptions>): Promise<{ code: number, out: string, notes: string[] }> {
  let out = ''
  const notes: string[] = []
  const code = await doctor({
    examine: async () => REPORT,
    json: false,
    out: { write: async text => { out += text; return true } },
    note: message => { notes.push(message) },
    ...more
  })
  return { code, out, notes }
}

t.test('a person reads what is wrong and what mends it, and nothing in it moves the cursor', async t => {
  t.strictSame(await said({}), {
    code: 1,
    notes: [],
    out: 'ok    node          Node 24\n' +
      'WARN  folder-modes  Others [2J can\n                    mend: readyroom doctor --fix\n' +
      'FAIL  port          Held\n                    mend: ss\n' +
      '\n1 failing, 1 to look at, 1 well.\n'
  })
})

t.test('a program reads one object; the exit code is 1 only where something fails', async t => {
  t.match(await said({ json: true }), { code: 1, out: `${JSON.stringify(REPORT)}\n` })
  t.equal((await said({ json: true, examine: async () => ({ ...REPORT, ok: true }) })).code, 0)
})

t.test('what was mended is said beside the report, which is of the time after', async t => {
  let isMended = false
  const { code, notes } = await said({
    mend: async () => { isMended = true; return ['It is whole.'] },
    examine: async () => ({ ...REPORT, ok: isMended })
  })
  t.strictSame([code, notes], [0, ['It is whole.']])
})
