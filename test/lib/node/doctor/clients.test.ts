import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { CLIENTS } from '../../../../lib/node/clients/clients'
import { putEntry } from '../../../../lib/node/clients/edit'
import type { ClientName } from '../../../../lib/node/clients/names'
import { readAddress, type Way } from '../../../../lib/node/clients/way'
import type { Scene } from '../../../../lib/node/doctor/scene'
import { listen } from '../../../helpers/build'
import { freePort } from '../../../helpers/process'
import { complaints, healthy } from '../../../helpers/scene'

const stdio = (command: string, ...args: string[]): Way => ({ kind: 'stdio', command, args, env: {}, token: { kind: 'none' }, fetched: false })

function tell ({ place }: Scene, name: ClientName, way: Way | string): string {
  const file = CLIENTS[name].files('user', place)[0]!
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof way === 'string' ? way : putEntry(CLIENTS[name], '', way))
  return file
}

t.test('an entry whose command is there is well, by path and by name', async t => {
  const { scene, home } = await healthy(t)
  const script = join(home, 'readyroom.mjs')
  writeFileSync(script, '')
  tell(scene, 'claude', stdio(process.execPath, script))
  tell(scene, 'codex', stdio('node', script))
  tell(scene, 'opencode', stdio('cmd', '/c', 'node', script))
  t.strictSame(await complaints(scene), [])
})

t.test('an entry whose command or file is gone fails, with the command that renews it', async t => {
  const { scene, home } = await healthy(t)
  tell(scene, 'claude', stdio(join(home, 'old/bin/node'), 'x.mjs'))
  tell(scene, 'gemini', stdio(process.execPath, join(home, 'gone.mjs')))
  tell(scene, 'cursor', stdio('no-such-program-here'))
  tell(scene, 'vscode', '{ "servers": { "readyroom": {} } }')
  t.match(await complaints(scene), [
    /^fail client-claude: .*old\/bin\/node, which is not there .* -> readyroom setup claude --write$/,
    /^fail client-gemini: .*gone\.mjs, which is not there/,
    /^fail client-cursor: .*starts no-such-program-here, which is not there/,
    /^fail client-vscode: .*names neither a command nor an address/
  ])
})

t.test('a file that cannot be read is named with its line', async t => {
  const { scene } = await healthy(t)
  const file = tell(scene, 'claude', '{\n  oops\n}')
  t.match((await complaints(scene))[0], `warn client-claude: ${file}, line 2, is not JSON: invalid symbol. -> Mend ${file}; Claude Code may not be able to read it either`)
})

t.test('an entry that is switched off, or leads to another queue, is warned about', async t => {
  const { scene } = await healthy(t)
  tell(scene, 'codex', '[mcp_servers.readyroom]\ncommand = "node"\nenabled = false\n')
  tell(scene, 'claude', { ...stdio(process.execPath), env: { READYROOM_PORT: '9999' } } as Way)
  t.match(await complaints(scene), [/^warn client-claude: Claude Code uses another queue .*READYROOM_PORT is 9999 in its entry/, /^warn client-codex: The entry of Codex is switched off/])
})

t.test('an entry of a project is looked at as well', async t => {
  const { scene } = await healthy(t)
  writeFileSync(join(scene.place.cwd, '.mcp.json'), putEntry(CLIENTS.claude, '', stdio('no-such-program-here')))
  t.match(await complaints(scene), [/^fail client-claude: .*\.mcp\.json\)\. -> readyroom setup claude --write --scope project$/])
})

t.test('an address at which a Ready Room answers is well; nobody, somebody else and no Origin are not', async t => {
  const { scene } = await healthy(t)
  const { origin } = await listen(t)
  const http = (url: string): Way => ({ kind: 'http', ...readAddress(url, 'mine'), token: { kind: 'none' } })
  tell(scene, 'claude', http(origin))
  tell(scene, 'codex', http(origin))
  t.strictSame(await complaints(scene), [])
  tell(scene, 'claude', http(`http://127.0.0.1:${await freePort()}`))
  tell(scene, 'codex', http(`${origin}/below`))
  tell(scene, 'cursor', `{ "mcpServers": { "readyroom": { "url": "${origin}/mcp/x" } } }`)
  t.match(await complaints(scene), [
    /^fail client-claude: .*where nothing answers: nobody listens there\. -> readyroom serve$/,
    /^fail client-codex: What answers at .*below\/, which Codex calls, is no Ready Room/,
    /^warn client-cursor: .*sends no Origin.* -> readyroom setup cursor --write --url http/
  ])
})
