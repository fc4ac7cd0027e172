import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { happened, scripted, sendJson, unread } from '../helpers/client-server'
import { testFolder } from '../helpers/folder'
import { NODES, ROOT } from '../helpers/packed'
import { Running } from '../helpers/process'

const OLDEST = 18

/** What else this machine calls `node`, each version once. */
const nodes = new Map<string, string>()
for (const path of [...NODES, ...(process.env['PATH'] ?? '').split(delimiter).map(folder => join(folder, 'node')).filter(existsSync)]) {
  const version = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()
  if (Number.parseInt(version.slice(1)) >= OLDEST && !nodes.has(version)) nodes.set(version, path)
}

for (const [version, node] of nodes) {
  t.test(`on Node ${version} the hook tells the agent what is new, and the watcher wakes it`, async t => {
    const { url, paths } = await scripted(t, ({ path, headers }, response) => {
      if (path !== '/v1/stream') return sendJson(response, path === '/v1/unread' ? unread([happened(1, { body: 'a word \u{1F4A5} from beta', concerns: ['alpha'] })]) : {})
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\nid: 0\n\n')
      if (headers['last-event-id'] === undefined) response.write(`id: 1\nevent: message_posted\ndata: ${JSON.stringify(happened(1, { concerns: ['alpha'] }))}\n\n`)
    })
    const env = { READYROOM_URL: url, READYROOM_AGENT_TOKEN: 'rr_test', READYROOM_STATE_DIR: testFolder(t) }
    const start = (name: 'hook' | 'watch', ...args: string[]): Running => {
      // What tap would have loaded into the process runs on newer versions only.
      const child = spawn('sh', ['-c', 'unset NODE_OPTIONS; exec "$@"', 'sh', node, join(ROOT, `dist/${name}.mjs`), ...args], { env, stdio: 'pipe' })
      t.teardown(() => { child.kill('SIGKILL') })
      return new Running(child)
    }
    const hook = start('hook')
    hook.child.stdin!.end(JSON.stringify({ hook_event_name: 'UserPromptSubmit', session_id: 's' }))
    t.match(await hook.finished, { code: 0, stdout: /a word \u{1F4A5} from beta/u, stderr: '' })
    t.ok(paths().includes('POST /v1/cursor'))
    const watch = start('watch')
    await watch.until(({ stdout }) => stdout.includes('\n') || undefined, 'a line')
    t.match(watch.stdout, /^Ready Room \[main\]: for you, "beta" in message 1 .*\n$/)
    watch.kill('SIGTERM')
    t.match(await watch.finished, { code: 0, stderr: '' })
    t.match(await start('hook', '--selfcheck').finished, { code: 0, stdout: new RegExp(`node +${version.replaceAll('.', '\\.')}`) })
    t.match(await start('watch', '--selfcheck').finished, { code: 0, stdout: /room +main, as alpha/ })
  })
}
