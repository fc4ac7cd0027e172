import t, { type Test } from 'tap'
import { EDGE, EDGE_DEFAULTS, EDGE_VARIABLES, edgeEnvironment } from '../../../lib/node/edge-settings'
import { checkReach, type Config, ConfigError, FLAGS, type Flags, pageUrl, readConfig, variableOf, warningsOf } from '../../../lib/node/config'

const TOKEN = 'a-token-of-twenty-six-signs'

const read = (env: Record<string, string>, flags: Flags = {}): Config =>
  readConfig({ env, flags, cwd: '/work place', platform: 'linux', home: () => '/home/lea' })

/** What refuses to start: the exit code and the sentence. */
function refusal (t: Test, start: () => unknown): { code: number, message: string } {
  try {
    start()
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err
    return { code: err.exitCode, message: err.message }
  }
  t.fail('it was not refused')
  return { code: 0, message: '' }
}

t.test('with nothing set, it is one loopback port and one folder a person', async t => {
  t.strictSame(read({}), {
    command: 'stdio',
    linger: false,
    bind: '127.0.0.1',
    port: 8971,
    stateDir: '/home/lea/.local/state/readyroom',
    allowedOrigins: [],
    originPolicy: 'strict',
    trustProxy: false,
    frameAncestors: [],
    metrics: false,
    edge: EDGE_DEFAULTS,
    given: { stateDir: false, token: false, bind: false, port: false }
  })
})

t.test('every setting has a variable and a flag of the same name', async t => {
  t.strictSame(FLAGS.map(variableOf), [
    'READYROOM_STREAM', 'READYROOM_TOKEN', 'READYROOM_BIND', 'READYROOM_STATE_DIR', 'READYROOM_PORT', 'READYROOM_ALLOWED_ORIGINS',
    'READYROOM_ORIGIN_POLICY', 'READYROOM_TRUST_PROXY', 'READYROOM_FRAME_ANCESTORS', 'READYROOM_METRICS'
  ])
  const values: Record<string, string> = {
    stream: 'alpha',
    token: TOKEN,
    bind: '::1',
    'state-dir': '/srv/queue',
    port: '9100',
    'allowed-origins': 'https://desk.example',
    'origin-policy': 'spec',
    'trust-proxy': 'on',
    'frame-ancestors': 'https://wiki.example',
    metrics: 'on'
  }
  const env = Object.fromEntries(FLAGS.map(flag => [variableOf(flag), values[flag]!]))
  const config = read(env)
  t.strictSame(config, {
    command: 'stdio',
    linger: false,
    stream: 'alpha',
    token: TOKEN,
    bind: '::1',
    port: 9100,
    stateDir: '/srv/queue',
    allowedOrigins: ['https://desk.example'],
    originPolicy: 'spec',
    trustProxy: true,
    frameAncestors: ['https://wiki.example'],
    metrics: true,
    edge: EDGE_DEFAULTS,
    given: { stateDir: true, token: true, bind: true, port: true }
  })
  t.strictSame(read({}, values as Flags), config)
})

t.test('a flag wins over its variable, a bad variable behind it included', async t => {
  t.equal(read({ READYROOM_PORT: '9100' }, { port: '9200' }).port, 9200)
  t.equal(read({ READYROOM_PORT: 'nonsense' }, { port: '9200' }).port, 9200)
  t.equal(read({ READYROOM_PORT: '9100' }, { port: '' }).port, 8971, 'a blank one is the default')
})

t.test('a blank variable counts as unset, but for the token', async t => {
  const blank = Object.fromEntries(FLAGS.filter(flag => flag !== 'token').flatMap(flag => [[variableOf(flag), '']]))
  t.strictSame(read(blank), read({}))
  t.strictSame(read(Object.fromEntries(Object.keys(blank).map(name => [name, ' \t']))), read({}))
  for (const token of ['', ' ', '\n']) {
    const { code, message } = refusal(t, () => read({ READYROOM_TOKEN: token }))
    t.equal(code, 1)
    t.match(message, /^READYROOM_TOKEN is blank/)
  }
  t.match(refusal(t, () => read({}, { token: '' })), { code: 2, message: /^--token is blank/ })
})

t.test('a bad value is refused: where it stands, what it is, what is allowed', async t => {
  const cases: Array<[Flags, RegExp]> = [
    [{ port: '3000' }, /"3000".*3000 to 3899.*worktree helper/],
    [{ port: '3899' }, /"3899".*worktree helper/],
    [{ port: '3456' }, /"3456".*worktree helper/],
    [{ port: '0' }, /"0".*1 to 65535/],
    [{ port: '65536' }, /"65536".*1 to 65535/],
    [{ port: '-1' }, /"-1".*1 to 65535/],
    [{ port: '8971.5' }, /"8971.5".*whole number/],
    [{ port: '0x1F' }, /"0x1F".*whole number/],
    [{ port: '1e4' }, /"1e4".*whole number/],
    [{ port: 'http' }, /"http".*whole number/],
    [{ bind: '*' }, /"\*".*0\.0\.0\.0 or ::/],
    [{ bind: 'http://127.0.0.1' }, /"http:\/\/127.0.0.1".*an address such as/],
    [{ bind: '127.0.0.1:8971' }, /"127.0.0.1:8971".*READYROOM_PORT/],
    [{ bind: '[::1]:8971' }, /READYROOM_PORT/],
    [{ bind: 'a host' }, /"a host".*an address such as/],
    [{ bind: '256.0.0.1' }, /"256.0.0.1".*an address such as/],
    [{ bind: 'a@b' }, /"a@b"/],
    [{ stream: 'x'.repeat(101) }, /at most 100 characters; got 101/],
    [{ stream: 'a\u0007b' }, /"a\\u0007b".*control characters/],
    [{ stream: '\u200b' }, /blank/],
    [{ 'state-dir': 'a\0b' }, /NUL/],
    [{ 'allowed-origins': 'desk.example' }, /"desk.example" is no origin.*https:\/\/desk.example/],
    [{ 'allowed-origins': 'https://desk.example/page' }, /"https:\/\/desk.example\/page" is no origin/],
    [{ 'allowed-origins': 'https://lea@desk.example' }, /is no origin/],
    [{ 'allowed-origins': 'https://desk.example?x' }, /is no origin/],
    [{ 'allowed-origins': 'https://desk.example#x' }, /is no origin/],
    [{ 'allowed-origins': 'https://a.example,ftp://b.example' }, /"ftp:\/\/b.example" is no origin/],
    [{ 'allowed-origins': 'https://*.example' }, /is no origin.*wildcard/],
    [{ 'allowed-origins': '*' }, /"\*" is no origin/],
    [{ 'allowed-origins': 'null' }, /"null" is no origin/],
    [{ 'allowed-origins': 'https://desk.example:99999' }, /is no origin/],
    [{ 'allowed-origins': 'http:desk.example' }, /is no origin/],
    [{ 'origin-policy': 'Strict' }, /"Strict".*strict.*spec/],
    [{ 'origin-policy': 'none' }, /"none".*strict.*spec/],
    [{ 'trust-proxy': 'maybe' }, /"maybe".*off, on/],
    [{ 'trust-proxy': '10.0.0.0/33' }, /off, on.*10\.0\.0\.0\/8/],
    [{ 'trust-proxy': '10.0.0.0/8/8' }, /off, on/],
    [{ 'trust-proxy': ',' }, /off, on/],
    [{ metrics: 'perhaps' }, /"perhaps".*on or off/],
    [{ 'frame-ancestors': '*' }, /"\*" names no site/],
    [{ 'frame-ancestors': 'https://*' }, /names no site/],
    [{ 'frame-ancestors': "'none'" }, /names no site/],
    [{ 'frame-ancestors': 'https://a.example;script-src *' }, /names no site/],
    [{ 'frame-ancestors': 'https:' }, /names no site/]
  ]
  for (const [flags, expected] of cases) {
    const [flag] = Object.keys(flags) as [keyof Flags]
    const value = flags[flag]!
    const byFlag = refusal(t, () => read({}, flags))
    t.equal(byFlag.code, 2)
    t.match(byFlag.message, expected)
    t.ok(byFlag.message.startsWith(`--${flag} is `) && byFlag.message.endsWith('.'), byFlag.message)
    const byVariable = refusal(t, () => read({ [variableOf(flag)]: value }))
    t.equal(byVariable.code, 1)
    t.equal(byVariable.message, byFlag.message.replace(`--${flag}`, variableOf(flag)))
  }
})

t.test('a value of any length makes a message that can be read', async t => {
  const { message } = refusal(t, () => read({ READYROOM_BIND: '!'.repeat(100_000) }))
  t.ok(message.length < 500, message)
})

t.test('the ports beside the refused ones are taken', async t => {
  for (const port of [1, 2999, 3900, 65_535]) t.equal(read({ READYROOM_PORT: ` ${port} ` }).port, port)
})

t.test('a token that cannot stand in a header is refused, and is never shown', async t => {
  for (const token of [`${TOKEN} `, `${TOKEN}\n`, `two ${TOKEN}`, `${TOKEN}ü`, `${TOKEN}\u0000`, `${TOKEN}\u200b`]) {
    const { code, message } = refusal(t, () => read({ READYROOM_TOKEN: token }))
    t.equal(code, 1)
    t.match(message, /^READYROOM_TOKEN holds a character that cannot stand in the header/)
    t.notMatch(message, TOKEN)
  }
  const long = 'x'.repeat(1_025)
  t.notMatch(refusal(t, () => read({ READYROOM_TOKEN: long })).message, 'xxx')
  t.equal(read({ READYROOM_TOKEN: long.slice(1) }).token, long.slice(1))
  const marks = 'A0-._~+/=!"#$%&\'()*,:;<>?@[\\]^`{|}'
  t.equal(read({ READYROOM_TOKEN: marks }).token, marks)
})

t.test('a token under 24 characters is warned about, without being shown', async t => {
  t.strictSame(warningsOf(read({})), [])
  t.strictSame(warningsOf(read({ READYROOM_TOKEN: 'x'.repeat(24) })), [])
  const [warning, ...more] = warningsOf(read({ READYROOM_TOKEN: 'short-secret' }))
  t.strictSame(more, [])
  t.match(warning, /12 characters.*at least 24/)
  t.notMatch(warning, 'short-secret')
})

t.test('an address that others can reach needs a token, however it is spelled', async t => {
  const reachable = ['0.0.0.0', '::', '[::]', '0', '0x0', '192.168.1.4', '10.0.0.1', '::ffff:10.0.0.1', 'fe80::1%eth0', 'fe80::1', 'desk.example', 'localhost.example',
    'board', '128.0.0.1']
  for (const bind of reachable) {
    const open = read({ READYROOM_BIND: bind })
    const { code, message } = refusal(t, () => checkReach(open))
    t.equal(code, 1)
    t.match(message, /^READYROOM_BIND is ".+": others can reach that address.*READYROOM_TOKEN/)
    checkReach(read({ READYROOM_BIND: bind, READYROOM_TOKEN: TOKEN }))
  }
  const flags = { bind: '0.0.0.0' }
  t.match(refusal(t, () => checkReach(read({}, flags), flags)), { code: 2, message: /^--bind is "0\.0\.0\.0"/ })
  for (const bind of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', 'LOCALHOST', 'localhost.', 'desk.localhost', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1']) {
    t.doesNotThrow(() => checkReach(read({ READYROOM_BIND: bind })), bind)
  }
})

t.test('what is judged is what is listened on', async t => {
  for (const [bind, is] of [
    ['localhost', '127.0.0.1'], ['LocalHost.', '127.0.0.1'], ['evil.localhost', '127.0.0.1'], ['0x7f.1', '127.0.0.1'], ['2130706433', '127.0.0.1'],
    ['0', '0.0.0.0'], ['[::1]', '::1'], ['::', '::'], ['Desk.Example', 'desk.example']
  ] as const) t.equal(read({ READYROOM_BIND: bind }).bind, is, bind)
})

t.test('origins are forgiven a slash, and kept as a browser sends them', async t => {
  const list = ' https://Desk.Example/ ,http://127.0.0.1:9000,, https://desk.example:443,http://[::1]:80,'
  t.strictSame(read({ READYROOM_ALLOWED_ORIGINS: list }).allowedOrigins, ['https://desk.example', 'http://127.0.0.1:9000', 'http://[::1]'])
  t.strictSame(read({ READYROOM_ALLOWED_ORIGINS: 'https://bücher.example' }).allowedOrigins, ['https://xn--bcher-kva.example'])
})

t.test('forwarding headers are believed from nobody, from everybody, or from the proxies named', async t => {
  for (const value of ['off', 'false', 'no', '0', 'OFF']) {
    t.equal(read({ READYROOM_TRUST_PROXY: value }).trustProxy, false)
    t.equal(read({ READYROOM_METRICS: value }).metrics, false)
  }
  for (const value of ['on', 'true', 'yes', '1', 'On']) t.equal(read({ READYROOM_TRUST_PROXY: value }).trustProxy, true)
  t.equal(read({ READYROOM_TRUST_PROXY: ' 127.0.0.1, 10.0.0.0/8,fd00::/8 , Loopback' }).trustProxy, '127.0.0.1,10.0.0.0/8,fd00::/8,loopback')
})

t.test('a site, its subdomains or an application may frame the page', async t => {
  const list = 'https://wiki.example/ https://*.Wiki.Example, vscode-webview://* http://127.0.0.1:9000 https://wiki.example'
  t.strictSame(read({ READYROOM_FRAME_ANCESTORS: list }).frameAncestors,
    ['https://wiki.example', 'https://*.wiki.example', 'vscode-webview://*', 'http://127.0.0.1:9000'])
})

t.test('a state folder is absolute from then on', async t => {
  t.equal(read({ READYROOM_STATE_DIR: '.state' }).stateDir, '/work place/.state')
  t.equal(read({ READYROOM_STATE_DIR: '/srv/a/../b/' }).stateDir, '/srv/b')
  t.equal(read({ READYROOM_STATE_DIR: '~/queue (v2)' }).stateDir, '/home/lea/queue (v2)')
  t.equal(read({ READYROOM_STATE_DIR: '~' }).stateDir, '/home/lea')
  t.equal(read({ READYROOM_STATE_DIR: '~lea' }).stateDir, '/work place/~lea')
})

t.test('without a home folder the state folder has to be named', async t => {
  for (const home of [() => '', () => { throw new Error('no entry') }]) {
    t.match(refusal(t, () => readConfig({ env: {}, home, platform: 'linux' })), { code: 1, message: /READYROOM_STATE_DIR is not set/ })
    t.equal(readConfig({ env: { READYROOM_STATE_DIR: '/srv/q' }, home, platform: 'linux' }).stateDir, '/srv/q')
  }
})

t.test('the page has an address for somebody on this machine', async t => {
  t.equal(pageUrl({ bind: '127.0.0.1', port: 8971 }), 'http://127.0.0.1:8971/')
  t.equal(pageUrl({ bind: '0.0.0.0', port: 8971 }), 'http://127.0.0.1:8971/')
  t.equal(pageUrl({ bind: '::', port: 9000 }), 'http://[::1]:9000/')
  t.equal(pageUrl({ bind: 'board.lan', port: 80 }), 'http://board.lan:80/')
})

t.test('the address of a broker that cannot be read is refused at once, and its password is in no message', async t => {
  for (const url of ['mqtt://me:hunter2%zz@127.0.0.1:1883', 'mqtt://hunter2%@127.0.0.1', 'mqtt://me:hunter2@127.0.0.1/#a', 'http://me:hunter2@127.0.0.1']) {
    const { message } = refusal(t, () => read({ READYROOM_MQTT_URL: url }))
    t.match(message, /^READYROOM_MQTT_URL is "/, url)
    t.notMatch(message, 'hunter2')
  }
  t.equal(read({ READYROOM_MQTT_URL: 'mqtt://me:50%25@127.0.0.1' }).edge.mqttUrl, 'mqtt://me:50%25@127.0.0.1')
})

t.test('the settings of the edge and of the rooms have variables, and what a process with them hands on says the same', t => {
  const values: Record<string, [text: string, wrong?: string]> = {
    READYROOM_MQTT_URL: ['mqtts://broker.lan:8883', 'broker.lan'],
    READYROOM_MQTT_USER: ['ready'],
    READYROOM_MQTT_PASSWORD: ['a word '],
    READYROOM_MQTT_PREFIX: ['home/ready', 'home/+'],
    READYROOM_ALLOWED_HOSTS: ['desk.example, Desk.lan:*,192.168.1.5:8971,[::1]:*', 'https://desk.example'],
    READYROOM_DNS_REBIND_PROTECTION: ['off', 'maybe'],
    READYROOM_AUTH_FAIL_LIMIT: ['0', '-1'],
    READYROOM_AUTH_FAIL_WINDOW: ['60', '0'],
    READYROOM_MAX_WAIT_S: ['30', '1e2'],
    READYROOM_MAX_FILE_BYTES: ['2048', '2 MB'],
    READYROOM_ADMIN_API: ['on', 'please'],
    READYROOM_ENABLE_UI: ['off', 'hidden'],
    READYROOM_CONSOLE_LAN_ONLY: ['off', 'lan'],
    READYROOM_PRUNE: ['off', '2'],
    READYROOM_PRUNE_INTERVAL: ['10', 'hourly'],
    READYROOM_PUBLIC_URL: ['https://desk.example/ready/', 'desk.example'],
    READYROOM_PUBLIC_HOSTS: ['desk.example', 'a b/c'],
    READYROOM_ANNOUNCE_UPGRADES: ['off', 'maybe'],
    READYROOM_LAN_URL: ['http://192.168.1.5:8971', 'http://lea:secret@desk.example']
  }
  t.strictSame([...EDGE_VARIABLES].sort(), Object.keys(values).sort())
  const { edge } = read(Object.fromEntries(Object.entries(values).map(([name, [text]]) => [name, text])))
  t.strictSame(edge, {
    announceUpgrades: false,
    allowedHosts: ['desk.example', 'desk.lan:*', '192.168.1.5:8971', '[::1]:*'],
    dnsRebindProtection: false,
    authFailLimit: 0,
    authFailWindow: 60,
    maxWaitS: 30,
    maxFileBytes: 2048,
    adminApi: true,
    enableUi: false,
    consoleLanOnly: false,
    prune: false,
    pruneInterval: 10,
    publicUrl: 'https://desk.example/ready',
    publicHosts: ['desk.example'],
    lanUrl: 'http://192.168.1.5:8971',
    mqttUrl: 'mqtts://broker.lan:8883',
    mqttUser: 'ready',
    mqttPassword: 'a word ',
    mqttPrefix: 'home/ready'
  })
  t.strictSame(read(edgeEnvironment(edge)).edge, edge)
  t.strictSame(read(Object.fromEntries(EDGE_VARIABLES.map(name => [name, ' ']))).edge, EDGE_DEFAULTS, 'a blank one stands for the default')
  for (const [name, [, wrong]] of Object.entries(values)) {
    if (wrong === undefined) continue
    t.match(refusal(t, () => read({ [name]: wrong })), { code: 1, message: new RegExp(`^${name} is .* (must be|is no)`) })
  }
  t.end()
})

t.test('what lets others reach it needs a token, and says so by its name', t => {
  const exposing = {
    [EDGE.allowedHosts.variable]: 'desk.example',
    [EDGE.publicHosts.variable]: 'desk.example',
    [EDGE.publicUrl.variable]: 'https://desk.example',
    [EDGE.dnsRebindProtection.variable]: 'off',
    READYROOM_TRUST_PROXY: 'loopback'
  }
  for (const [name, value] of Object.entries(exposing)) {
    t.match(refusal(t, () => checkReach(read({ [name]: value }))), { code: 1, message: new RegExp(`^${name} is set: .*Set READYROOM_TOKEN`) })
    t.doesNotThrow(() => checkReach(read({ [name]: value, READYROOM_TOKEN: TOKEN })))
  }
  t.end()
})
