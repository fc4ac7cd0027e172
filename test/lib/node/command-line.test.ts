import t from 'tap'
import { readCommandLine } from '../../../lib/node/command-line'
import { ConfigError } from '../../../lib/node/config'

const nothing = { version: false, flags: {}, linger: false, json: false, verify: false }

t.test('no word at all is the command that an MCP client starts', async t => {
  t.strictSame(readCommandLine([]), { ...nothing, command: 'stdio' })
})

t.test('a command, its flags and the settings are read in any order', async t => {
  t.match(readCommandLine(['serve']), { command: 'serve', linger: false })
  t.match(readCommandLine(['serve', '--linger']), { command: 'serve', linger: true })
  t.match(readCommandLine(['--port', '9000', 'status', '--json']), { command: 'status', json: true, flags: { port: '9000' } })
  t.match(readCommandLine(['stop', '--state-dir=/srv/my queue']), { command: 'stop', flags: { 'state-dir': '/srv/my queue' } })
  t.strictSame(readCommandLine(['--token=-dashed', '--bind', '::1']).flags, { token: '-dashed', bind: '::1' })
})

t.test('help and version are asked for in the usual ways', async t => {
  for (const argv of [['--help'], ['-h'], ['help']]) t.match(readCommandLine(argv), { command: 'help', topic: undefined })
  for (const argv of [['audit', '--help'], ['help', 'audit'], ['-h', 'audit'], ['audit', '--verify', '-h']]) t.match(readCommandLine(argv), { command: 'help', topic: 'audit' })
  for (const argv of [['--version'], ['-v'], ['serve', '--version']]) t.equal(readCommandLine(argv).version, true)
})

t.test('what the audit log is asked is read strictly', async t => {
  const hash = 'ab'.repeat(32)
  t.match(readCommandLine(['audit', '--verify', '--head', hash.toUpperCase()]), { verify: true, head: hash })
  for (const [text, since] of [
    ['2026-01-31', '2026-01-31T00:00:00.000Z'], ['2026-01-31T09:30', '2026-01-31T09:30:00.000Z'], ['2026-01-31 09:30:15', '2026-01-31T09:30:15.000Z'],
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'], ['2026-01-31T09:30:00.250+02:00', '2026-01-31T07:30:00.250Z']
  ]) t.equal(readCommandLine(['audit', '--since', text!]).since, since)
})

t.test('a client to set up, and what the doctor looks at, are read with their flags', async t => {
  t.match(readCommandLine(['setup', 'claude', '--write', '--scope=project', '--stream', 'my repo (v2)']), {
    command: 'setup', client: 'claude', write: true, scope: 'project', flags: { stream: 'my repo (v2)' }
  })
  t.match(readCommandLine(['setup', 'codex', '--url', 'https://desk.example', '--inline-token']), { client: 'codex', url: 'https://desk.example', inlineToken: true })
  t.match(readCommandLine(['setup', '--instructions']), { command: 'setup', instructions: true, client: undefined })
  t.match(readCommandLine(['setup', '--help']), { command: 'help', topic: 'setup' })
  t.match(readCommandLine(['doctor', '--quick', '--fix', '--json', '--url', 'http://x']), { command: 'doctor', quick: true, fix: true, json: true, url: 'http://x' })
})

t.test('whatever is not understood is refused with a sentence, as a matter of the command line', async t => {
  const cases: Array<[string[], RegExp]> = [
    [['run'], /no command "run"; there are serve, status, stop, setup, doctor, audit, admin, hook, watch, help/],
    [[''], /no command ""/],
    [['serve', 'now'], /serve takes flags only/],
    [['help', 'me'], /no help on that/],
    [['help', 'audit', 'serve'], /Too many words/],
    [['--prot', '9000'], /Unknown option '--prot'/],
    [['-x'], /Unknown option '-x'/],
    [['--port'], /--port needs a value/],
    [['--port', '--json'], /--port needs a value.*--port=VALUE/],
    [['--json=yes', 'status'], /'--json' does not take an argument/],
    [['--json'], /--json goes with readyroom status and readyroom audit and readyroom doctor/],
    [['serve', '--json'], /--json goes with .* not with readyroom serve/],
    [['--linger'], /--linger goes with readyroom serve/],
    [['status', '--verify'], /--verify goes with readyroom audit, not with readyroom status/],
    [['audit', '--head', 'ab'.repeat(32)], /--head goes with --verify/],
    [['audit', '--verify', '--head', 'ab'], /--head is "ab": it must be a hash/],
    [['audit', '--verify', '--since', '2026-01-31'], /--since goes without --verify/],
    [['audit', '--since', 'yesterday'], /--since is "yesterday": it must be a date or a time/],
    [['audit', '--since', '2026-13-01'], /--since is "2026-13-01"/],
    [['audit', '--since', '2026-02-29'], /--since is "2026-02-29"/],
    [['audit', '--since', '5'], /--since is "5"/],
    [['setup'], /The client behind setup must be one of claude, codex, gemini, cursor, vscode, opencode, or hook/],
    [['setup', 'hook', '--inline-token'], /setup hook takes --write, --scope and --url/],
    [['setup', 'emacs'], /is not "emacs": it must be one of claude/],
    [['setup', 'claude', 'codex'], /Too many words: one client at a time/],
    [['setup', 'claude', '--scope', 'local'], /--scope is "local": it must be user, .* or project/],
    [['setup', 'claude', '--instructions', '--write'], /--instructions .* goes without --write/],
    [['setup', 'claude', '--scope', 'project', '--inline-token'], /--inline-token goes without --scope project/],
    [['setup', 'claude', '--url', 'http://x', '--port', '9000'], /--port goes without --url/],
    [['status', '--write'], /--write goes with readyroom setup, not with readyroom status/],
    [['doctor', 'claude'], /doctor takes flags only/],
    [['setup', 'claude', '--fix'], /--fix goes with readyroom doctor/]
  ]
  for (const [argv, expected] of cases) {
    try {
      readCommandLine(argv)
      t.fail(`${argv.join(' ')} was understood`)
    } catch (err) {
      if (!(err instanceof ConfigError)) throw err
      t.equal(err.exitCode, 2)
      t.match(err.message, expected)
      t.match(err.message, /readyroom --help shows what there is\.$/)
    }
  }
})

t.test('no refusal repeats what may be a piece of the token', async t => {
  for (const argv of [['--token', 'first', 'second'], ['--token=first', 'serve', 'second'], ['--tokem=second'], ['serve', '--token', '--second'], ['--token', '-second'], ['setup', '--token', 'first', 'second']]) {
    try {
      readCommandLine(argv)
      t.fail(`${argv.join(' ')} was understood`)
    } catch (err) {
      t.notMatch((err as Error).message, 'second')
    }
  }
})
