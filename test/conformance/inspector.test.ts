import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { CHILD, ROOT, startRoom } from '../helpers/room'

/** The inspector's command line; resolves with its exit code and output. */
async function inspect (...args: string[]): Promise<{ code: number | null, out: string, err: string }> {
  const child = spawn(process.execPath, [`${ROOT}node_modules/.bin/mcp-inspector`, '--cli', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise<number | null>(resolve => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

t.test('the inspector\'s command line finds the tools portable and can call them, in both eras and over both transports', async t => {
  const { url, origin, desk } = await startRoom(t)
  const http = [url, '--transport', 'http', '--header', `Origin: ${origin}`, '--format', 'json']
  for (const era of ['legacy', 'modern']) {
    const list = await inspect(...http, '--protocol-era', era, '--method', 'tools/list', '--strict')
    t.equal(list.code, 0, `${era}: ${list.err}`)
    t.match(list.out, /"wait_for_answer"/)
    const call = await inspect(...http, '--protocol-era', era, '--method', 'tools/call', '--tool-name', 'ask_human', '--tool-arg', `question=From ${era}?`)
    t.equal(call.code, 0, call.err)
  }
  t.match((await desk.pending()).tickets, [{ question: 'From legacy?', stream: 'client' }, { question: 'From modern?' }])

  const stdio = await inspect('--method', 'tools/list', '--strict', '--format', 'json', '--', CHILD.command, ...CHILD.args)
  t.equal(stdio.code, 0, stdio.err)
  t.match(stdio.out, /"cancel_ticket"/)

  const refused = await inspect(url, '--transport', 'http', '--method', 'tools/list')
  t.not(refused.code, 0, 'without the Origin it is told no')
})
