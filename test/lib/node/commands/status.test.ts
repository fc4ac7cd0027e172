import t from 'tap'
import type { DaemonStatus } from '../../../../schemas/internal'
import { status } from '../../../../lib/node/commands/status'

const daemon: DaemonStatus = {
  pid: 4711,
  port: 8971,
  version: '1.2.3',
  protocol: 1,
  instance: 'i-1',
  started_at: '2026-01-31T09:30:00.000Z',
  state_dir: '/home/lea/.local/state/readyroom',
  bind: '0.0.0.0',
  token_set: true,
  lingering: false,
  pending: 2,
  waiting: 1,
  pages: 0,
  clients: [{ pid: 12, version: '1.2.3' }, { pid: 13, version: '1.0.0' }]
}

async function said (about: DaemonStatus | undefined, json = false): Promise<{ code: number, text: string }> {
  let text = ''
  const code = await status({ askDaemon: async () => about, json, out: { write: async more => { text += more; return true } } })
  return { code, text }
}

t.test('what runs is told to be read, exit code 0', async t => {
  const { code, text } = await said(daemon)
  t.equal(code, 0)
  t.equal(text, [
    'Ready Room 1.2.3 is running.',
    '',
    'page     http://127.0.0.1:8971/',
    'pid      4711, since 2026-01-31T09:30:00.000Z',
    'port     8971 on 0.0.0.0, with a token',
    'folder   /home/lea/.local/state/readyroom',
    'pending  2 tickets; 1 call of wait_for_answer under way',
    'pages    0 pages open',
    'clients  2 attached: pid 12, pid 13 (version 1.0.0)',
    ''
  ].join('\n'))
})

t.test('where there are rooms it says how many, and what attention cost today', async t => {
  const { text } = await said({ ...daemon, rooms: { rooms: 1, tokens: 3, agents: 2, wakeups: 4, injections: 1 } })
  t.match(text, 'rooms      1 room, 3 tokens, 2 agents\nattention  4 wake-ups and 1 injected turn today\n')
})

t.test('one that lingers says so', async t => {
  t.match((await said({ ...daemon, lingering: true, clients: [] })).text, /clients {4}none attached\nlingering {2}yes: its agent has left/)
})

t.test('as JSON it is one object', async t => {
  const { code, text } = await said(daemon, true)
  t.equal(code, 0)
  t.strictSame(JSON.parse(text), { running: true, page: 'http://127.0.0.1:8971/', ...daemon })
})

t.test('nothing that runs is exit code 1', async t => {
  t.strictSame(await said(undefined), { code: 1, text: 'No Ready Room is running.\n' })
  t.strictSame(await said(undefined, true), { code: 1, text: '{"running":false}\n' })
})
