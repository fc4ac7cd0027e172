import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { setupText, TOKEN_PLACEHOLDER, type SetupInput } from '../../../lib/room/setup-text'
import { scripted, type Reply } from '../../helpers/client-server'
import { testFolder } from '../../helpers/folder'
import { bash, powershell, windowsProgram } from '../../helpers/shells'

const HOOK = 'console.log("the hook")\n'
const OTTER: SetupInput = {
  agent: 'otter',
  role: 'agent',
  home: 'main',
  rooms: [],
  all_rooms: false,
  lanUrl: 'http://192.168.1.5:8971',
  publicUrl: '',
  origin: 'http://127.0.0.1:8971',
  hookSha256: createHash('sha256').update(HOOK).digest('hex')
}

const routeOf = (input: Partial<SetupInput>, at = 0) => setupText({ ...OTTER, ...input }).routes[at]!

t.test('the network comes first, and the world only where its address was configured', async t => {
  t.strictSame(setupText(OTTER).routes.map(({ where, url }) => [where, url]), [['lan', 'http://192.168.1.5:8971']])
  t.strictSame(setupText({ ...OTTER, publicUrl: 'https://desk.example/ready' }).routes.map(({ where, url }) => [where, url]),
    [['lan', 'http://192.168.1.5:8971'], ['remote', 'https://desk.example/ready']])
})

t.test('each text has the place for the token, and the addresses of its route', async t => {
  const { terminal, mcp_json: mcp, hook_settings: settings } = routeOf({ publicUrl: 'https://desk.example/ready' }, 1)
  const { add, hook_fetch: fetched } = terminal!.bash
  t.equal(add, 'claude mcp add --transport http readyroom https://desk.example/ready/mcp ' +
    `--header "Authorization: Bearer ${TOKEN_PLACEHOLDER}" --header "Origin: http://127.0.0.1:8971"`)
  t.strictSame(JSON.parse(mcp!), {
    mcpServers: {
      readyroom: { type: 'http', url: 'https://desk.example/ready/mcp', headers: { Authorization: `Bearer ${TOKEN_PLACEHOLDER}`, Origin: 'http://127.0.0.1:8971' } }
    }
  })
  t.match(fetched, `curl -fsS --create-dirs -H "Authorization: Bearer ${TOKEN_PLACEHOLDER}" -o .claude/readyroom-hook.part https://desk.example/ready/v1/hook\nnode -e "`)
  const { env, hooks } = JSON.parse(settings!) as { env: object, hooks: Record<string, Array<{ hooks: Array<{ command: string, args: string[] }> }>> }
  t.strictSame(env, { READYROOM_URL: 'https://desk.example/ready', READYROOM_AGENT_TOKEN: TOKEN_PLACEHOLDER, READYROOM_ROOM: 'main' })
  t.strictSame(Object.keys(hooks), ['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'Stop'])
  for (const groups of Object.values(hooks)) {
    const [first] = groups[0]!.hooks
    t.match(first, { command: 'node', args: [/^\$\{CLAUDE_PROJECT_DIR\}\/\.claude\/readyroom-hook\.mjs$/] }, 'no shell of any system has a part in it')
  }
})

const READERS = { bash, powershell, cmd: windowsProgram }
const SHELLS = ['bash', 'powershell', 'cmd'] as const
const ADDRESSES = ['http://192.168.1.5:8971', 'https://desk.example/ready', 'http://[fd00::5]:8971', 'http://desk.lan/it(s)&a']

t.test('each line of each shell is the words that are meant, by a bash, a grammar of PowerShell and the rules of Windows', async t => {
  for (const lanUrl of ADDRESSES) {
    const { terminal } = routeOf({ lanUrl })
    for (const shell of SHELLS) {
      const { add, hook_fetch: fetched } = terminal![shell]
      const words = (line: string): string[] => shell === 'bash' ? bash(`show ${line}`) : READERS[shell](line)
      t.strictSame(words(add!), ['claude', 'mcp', 'add', '--transport', 'http', 'readyroom', `${lanUrl}/mcp`,
        '--header', `Authorization: Bearer ${TOKEN_PLACEHOLDER}`, '--header', 'Origin: http://127.0.0.1:8971'], `${shell}: ${add}`)
      const [fetching, checking, ...more] = fetched!.split('\n')
      t.strictSame(words(fetching!), [shell === 'bash' ? 'curl' : 'curl.exe', '-fsS', '--create-dirs', '-H', `Authorization: Bearer ${TOKEN_PLACEHOLDER}`,
        '-o', '.claude/readyroom-hook.part', `${lanUrl}/v1/hook`], shell)
      t.match(words(checking!), ['node', '-e', new RegExp(OTTER.hookSha256!)], shell)
      t.equal(words(checking!).length, 3)
      t.strictSame(more, [])
    }
  }
})

t.test('an address that a shell has no way to write is left out for that shell, and there for the others', async t => {
  const { terminal } = routeOf({ lanUrl: "http://desk.lan/it's%20$(touch x)&a b" })
  t.strictSame(terminal!.cmd, {})
  t.match(terminal!.bash.add, "'http://desk.lan/it'\\''s%20$(touch x)&a b/mcp'")
  t.match(terminal!.bash.hook_fetch, "'http://desk.lan/it'\\''s%20$(touch x)&a b/v1/hook'")
  t.match(terminal!.powershell.hook_fetch, "'http://desk.lan/it''s%20$(touch x)&a b/v1/hook'")
})

t.test('what was fetched becomes the hook only where its digest is the one that was said, whatever stood there before', async t => {
  const [bashWords, ...others] = SHELLS.map(shell => {
    const line = routeOf({}).terminal![shell].hook_fetch!.split('\n')[1]!
    return shell === 'bash' ? bash(`show ${line}`) : READERS[shell](line)
  })
  for (const words of others) t.strictSame(words, bashWords, 'it is one line for all of them')
  for (const [arrived, isGood] of [[HOOK, true], [`${HOOK}//`, false], [undefined, false]] as const) {
    for (const before of [undefined, 'an older hook']) {
      const folder = t.testdir({ '.claude': {} })
      const [hook, part] = ['hook.mjs', 'hook.part'].map(name => join(folder, `.claude/readyroom-${name}`)) as [string, string]
      // Whatever kind of project it is, the line works.
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
      if (before !== undefined) writeFileSync(hook, before)
      if (arrived !== undefined) writeFileSync(part, arrived)
      const { status, stdout, stderr } = spawnSync(process.execPath, bashWords!.slice(1), { cwd: folder, encoding: 'utf8' })
      t.strictSame([status, stderr], [isGood ? 0 : 1, ''], `${arrived}`)
      t.match(stdout, isGood ? /in place/ : /No hook was put in place.*Open the setup text again/)
      t.equal(existsSync(hook) ? readFileSync(hook, 'utf8') : undefined, isGood ? HOOK : before)
      t.notOk(existsSync(part), 'nothing else is left')
    }
  }
})

t.test('typed into bash, they refuse what a server sends in its place or cuts off, follow it nowhere, and say so', async t => {
  const cases: Array<[reply: Reply, isGood: boolean]> = [
    [(_asked, response) => { response.end(HOOK) }, true],
    [(_asked, response) => { response.end(`${HOOK}//`) }, false],
    [(_asked, response) => { response.writeHead(302, { location: '/elsewhere' }).end() }, false],
    [(_asked, response) => { response.writeHead(401).end(HOOK) }, false],
    [(_asked, response) => { response.writeHead(200, { 'content-length': '900' }).write(HOOK.slice(1)); setImmediate(() => { response.destroy() }) }, false]
  ]
  for (const [reply, isGood] of cases) {
    const { url, paths } = await scripted(t, reply)
    const folder = testFolder(t)
    const shell = spawn('bash', ['--norc', '-c', routeOf({ lanUrl: url }).terminal!.bash.hook_fetch!], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
    let said = ''
    shell.stdout.on('data', piece => { said += piece })
    const [code] = await once(shell, 'close') as [number]
    t.equal(code, isGood ? 0 : 1)
    t.match(said, isGood ? /in place/ : /No hook was put in place/)
    t.strictSame(paths(), ['GET /v1/hook'])
    t.strictSame(existsSync(join(folder, '.claude')) ? readdirSync(join(folder, '.claude')) : [], isGood ? ['readyroom-hook.mjs'] : [])
  }
})

t.test('where no hook is handed out none is spoken of', async t => {
  const route = routeOf({ hookSha256: undefined })
  t.strictSame(Object.values(route.terminal!).map(lines => Object.keys(lines)), [['add'], ['add'], ['add']])
  t.notOk('hook_settings' in route)
})

t.test('an approver is a person: a page to open, and nothing to put into a client', async t => {
  const { routes: [route], brief, command } = setupText({ ...OTTER, agent: 'lea', role: 'approver' })
  t.strictSame(route, { where: 'lan', url: 'http://192.168.1.5:8971', page: 'http://192.168.1.5:8971/' })
  t.match(brief, /You are lea .*Whoever has the token answers as you/s)
  t.equal(command, 'readyroom admin add-token --agent lea --room main --approver')
})

t.test('the brief says who somebody is, where, what they may, and that texts of others are no orders', async t => {
  const { brief } = setupText({ ...OTTER, rooms: ['lab', 'ops'] })
  t.match(brief, /You are otter.*home room is main.*lab, ops/)
  t.match(brief, /never follow it as instructions/)
  t.match(brief, /ask_human/)
  t.match(setupText({ ...OTTER, all_rooms: true }).brief, /every room/)
  t.notMatch(setupText({ ...OTTER, role: 'observer' }).brief, /claim_task/)
  for (const role of ['agent', 'observer', 'admin', 'approver'] as const) {
    t.notMatch(setupText({ ...OTTER, role }).brief, TOKEN_PLACEHOLDER, `the brief of an ${role} is pasted into a model, which needs no token`)
  }
})

t.test('the command makes the same token', async t => {
  const { command } = setupText({ ...OTTER, rooms: ['lab'], role: 'admin', all_rooms: true, expires_at: '2027-01-01T00:00:00.000Z' })
  t.equal(command, 'readyroom admin add-token --agent otter --room main --also lab --admin --all-rooms --expires 2027-01-01T00:00:00.000Z')
  t.equal(setupText({ ...OTTER, role: 'observer' }).command, 'readyroom admin add-token --agent otter --room main --readonly')
})
