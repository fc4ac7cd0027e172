import t from 'tap'
import { invocation, launchOf, readAddress, type Started } from '../../../../lib/node/clients/way'

const started = (script: string, platform: NodeJS.Platform = 'linux'): Started =>
  ({ platform, script, execPath: platform === 'win32' ? 'C:\\Program Files\\nodejs\\node.exe' : '/usr/bin/node', execArgv: ['--import=/srv/ts-hooks.mjs'] })

t.test('from a cache it is started by npx, which on Windows only cmd can start', async t => {
  for (const script of ['/home/lea/.npm/_npx/1a2b/node_modules/.bin/readyroom', '/home/lea/.cache/pnpm/dlx/1a2b/node_modules/readyroom/dist/readyroom.mjs']) {
    t.strictSame(launchOf(started(script)), { command: 'npx', args: ['-y', 'readyroom'], fetched: true })
    t.strictSame(invocation(started(script)), ['npx', '-y', 'readyroom'])
  }
  const windows = started('C:\\Users\\Lea Chan\\AppData\\Local\\npm-cache\\_npx\\1a2b\\node_modules\\readyroom\\dist\\readyroom.mjs', 'win32')
  t.strictSame(launchOf(windows), { command: 'cmd', args: ['/c', 'npx', '-y', 'readyroom'], fetched: true })
  t.strictSame(invocation(windows), ['npx', '-y', 'readyroom'])
})

t.test('from a clone or an installation it is started by its own Node and file', async t => {
  for (const script of ['/home/lea/my repo (v2)/dist/readyroom.mjs', '/usr/local/bin/readyroom']) {
    t.strictSame(launchOf(started(script)), { command: '/usr/bin/node', args: [script], fetched: false })
    t.strictSame(invocation(started(script)), ['node', script])
  }
  t.strictSame(launchOf(started('/srv/cli.ts')).args, ['--import=/srv/ts-hooks.mjs', '/srv/cli.ts'])
})

t.test('an address leads to the endpoint of a stream, below whatever path a proxy has', async t => {
  const cases: Array<[string, string | undefined, string]> = [
    ['http://127.0.0.1:8971', undefined, 'http://127.0.0.1:8971/mcp'],
    ['http://127.0.0.1:8971/', 'my repo (v2)', 'http://127.0.0.1:8971/mcp/my%20repo%20(v2)'],
    ['https://desk.example/ready/', 'a/b', 'https://desk.example/ready/mcp/a%2Fb'],
    ['https://desk.example/ready/mcp/alpha', undefined, 'https://desk.example/ready/mcp/alpha'],
    ['https://desk.example/mcp/alpha', 'beta', 'https://desk.example/mcp/beta'],
    ['https://desk.example/mcp/', undefined, 'https://desk.example/mcp'],
    ['HTTPS://Desk.example:443/mcpx', undefined, 'https://desk.example/mcpx/mcp']
  ]
  for (const [text, stream, url] of cases) t.equal(readAddress(text, stream).url, url, text)
  t.match(readAddress('https://desk.example/ready/mcp/my%20repo'), { origin: 'https://desk.example', base: 'https://desk.example/ready/', stream: 'my repo', loopback: false, plain: false })
  t.match(readAddress('http://localhost:8971'), { origin: 'http://localhost:8971', loopback: true, plain: true, stream: undefined })
})

t.test('an address that cannot be meant is refused', async t => {
  for (const [text, message] of [['desk.example', /must be an address/], ['ftp://desk.example', /begin with http/], ['https://lea:secret@desk.example', /user and the password/],
    ['https://desk.example/?token=x', /no \?/], ['https://desk.example/#x', /no #/]] as const) t.throws(() => readAddress(text), { message })
  t.throws(() => readAddress('https://desk.example', '..'), /called \.\. cannot stand/)
})
