import t from 'tap'
import type { DaemonStatus } from '../../../../schemas/internal'
import type { Stopped } from '../../../../lib/node/ask-daemon'
import { stop } from '../../../../lib/node/commands/stop'

const daemon = (more: Partial<DaemonStatus>): DaemonStatus => ({
  pid: 4711,
  port: 8971,
  version: '1.2.3',
  protocol: 1,
  instance: 'i-1',
  started_at: '2026-01-31T09:30:00.000Z',
  state_dir: '/srv/q',
  bind: '127.0.0.1',
  token_set: false,
  lingering: false,
  pending: 0,
  waiting: 0,
  pages: 0,
  clients: [],
  ...more
})

interface Said { code: number, text: string }

async function said (result: Stopped | undefined, later: Array<DaemonStatus | undefined> = [], takeoverMs = 10_000, now = Date.now): Promise<Said> {
  let text = ''
  const code = await stop({
    stopDaemon: async () => result,
    askDaemon: async () => later.shift(),
    takeoverMs,
    now,
    out: { write: async more => { text += more; return true } }
  })
  return { code, text }
}

t.test('nothing to stop is what was wanted', async t => {
  t.strictSame(await said(undefined), { code: 0, text: 'No Ready Room is running.\n' })
})

t.test('what has stopped is told, and what became of its tickets', async t => {
  const of = async (pending: number): Promise<string> => (await said({ pid: 4711, stopped: daemon({ pending }), successor: undefined })).text
  t.equal(await of(0), 'Ready Room (pid 4711) has stopped. Nothing was pending.\n')
  t.match(await of(1), /The pending ticket is kept for the next start/)
  t.match(await of(3), /The 3 pending tickets are kept for the next start/)
})

t.test('a client that takes over is named, at once or a little later', async t => {
  const stopped = daemon({ clients: [{ pid: 12, version: '1.2.3' }] })
  const heir = daemon({ pid: 12, instance: 'i-2' })
  const results = [
    await said({ pid: 4711, stopped, successor: heir }),
    await said({ pid: 4711, stopped, successor: undefined }, [undefined, undefined, heir])
  ]
  for (const result of results) {
    t.equal(result.code, 0)
    t.match(result.text, /pid 4711\) has stopped\. A process that was attached to it \(pid 12\) has taken over/)
  }
  t.match((await said({ pid: 4711, stopped, successor: undefined }, [], 60)).text, /has stopped\. Nothing was pending/, 'and not waited for for ever')
})

t.test('one that somebody else had stopped is told of as stopped, and who took over is looked for', async t => {
  const ending = { pid: 4711, stopped: undefined, successor: undefined }
  t.match((await said(ending, [undefined, daemon({ pid: 12 })])).text, /pid 4711\) has stopped\. A process that was attached to it \(pid 12\) has taken over/)
  t.match((await said(ending, [], 60)).text, /pid 4711\) has stopped\. Whatever was pending is kept/)
})

t.test('who was still on the way to a daemon that had just begun is waited for, and named', async t => {
  const stopped = daemon({ pending: 46 })
  const heir = daemon({ pid: 12, instance: 'i-2' })
  const at = (ms: number) => () => Date.parse(stopped.started_at) + ms
  const result = { pid: 4711, stopped, successor: undefined }
  t.match((await said(result, [undefined, undefined, heir], 10_000, at(1_000))).text, /\(pid 12\) has taken over/)
  t.match((await said(result, [heir], 10_000, at(60_000))).text, /46 pending tickets are kept/, 'one that stood for long had nobody')
  t.match((await said(result, [], 60, at(1_000))).text, /46 pending tickets are kept/)
})
