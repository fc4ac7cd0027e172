import fc from 'fast-check'
import { parse as parseJsonc } from 'jsonc-parser'
import t from 'tap'
import { type Client, CLIENTS, misread } from '../../../../lib/node/clients/clients'
import { findEntry, printEntry, putEntry } from '../../../../lib/node/clients/edit'
import { parseToml } from '../../../../lib/node/clients/edit-toml'
import { CLIENT_NAMES } from '../../../../lib/node/clients/names'
import { SettingsError } from '../../../../lib/node/clients/settings-error'
import type { Way } from '../../../../lib/node/clients/way'

const HOME = 'C:\\Users\\Lea Chan'
const STDIO: Way = {
  kind: 'stdio', command: 'npx', args: ['-y', 'readyroom'], env: { READYROOM_STREAM: 'my repo (v2)', READYROOM_STATE_DIR: `${HOME}\\queue` }, token: { kind: 'none' }, fetched: true
}
const PLAIN: Way = { ...STDIO, env: {} }
const HTTP: Way = { kind: 'http', url: 'https://desk.example/mcp/my%20repo', origin: 'https://desk.example', token: { kind: 'reference', variable: 'READYROOM_TOKEN' } }

const { claude, codex, cursor, vscode, opencode, gemini } = CLIENTS
const read = ({ format }: Client, text: string): unknown => format === 'toml' ? parseToml(text) : parseJsonc(text)
const all = Object.values(CLIENTS)

/** Lines of `before` that `after` no longer has, in order. */
function lost (before: string, after: string): string[] {
  const lines = after.split('\n')
  let from = 0
  return before.split('\n').filter(line => {
    const found = lines.indexOf(line, from)
    if (found !== -1) from = found + 1
    return found === -1
  })
}

t.test('each client gets the entry that it reads, by command and by address', async t => {
  const env = { READYROOM_STREAM: 'my repo (v2)', READYROOM_STATE_DIR: `${HOME}\\queue` }
  const [command, args] = ['npx', ['-y', 'readyroom']]
  const url = 'https://desk.example/mcp/my%20repo'
  const Origin = 'https://desk.example'
  const expected: Record<string, [object, object]> = {
    claude: [{ mcpServers: { readyroom: { type: 'stdio', command, args, env, timeout: 610_000 } } },
      { mcpServers: { readyroom: { type: 'http', url, headers: { Origin, Authorization: 'Bearer ${READYROOM_TOKEN}' }, timeout: 610_000 } } }], // eslint-disable-line no-template-curly-in-string
    codex: [{ mcp_servers: { readyroom: { command, args, startup_timeout_sec: 60, tool_timeout_sec: 610, env } } },
      { mcp_servers: { readyroom: { url, bearer_token_env_var: 'READYROOM_TOKEN', tool_timeout_sec: 610, http_headers: { Origin } } } }],
    gemini: [{ mcpServers: { readyroom: { command, args, env, timeout: 610_000 } } },
      { mcpServers: { readyroom: { httpUrl: url, headers: { Origin, Authorization: 'Bearer ${READYROOM_TOKEN}' }, timeout: 610_000 } } }], // eslint-disable-line no-template-curly-in-string
    cursor: [{ mcpServers: { readyroom: { type: 'stdio', command, args, env } } },
      { mcpServers: { readyroom: { url, headers: { Origin, Authorization: 'Bearer ${env:READYROOM_TOKEN}' } } } }], // eslint-disable-line no-template-curly-in-string
    vscode: [{ servers: { readyroom: { type: 'stdio', command, args, env } } },
      { servers: { readyroom: { type: 'http', url, headers: { Origin, Authorization: 'Bearer ${env:READYROOM_TOKEN}' } } } }], // eslint-disable-line no-template-curly-in-string
    opencode: [{ mcp: { readyroom: { type: 'local', command: [command, ...args], environment: env, timeout: 610_000 } } },
      { mcp: { readyroom: { type: 'remote', url, oauth: false, headers: { Origin, Authorization: 'Bearer {env:READYROOM_TOKEN}' }, timeout: 610_000 } } }]
  }
  t.strictSame(Object.keys(expected), [...CLIENT_NAMES])
  for (const client of all) {
    const [stdio, http] = expected[client.name]!
    t.strictSame(read(client, printEntry(client, STDIO)), stdio, client.name)
    t.strictSame(read(client, printEntry(client, HTTP)), http, client.name)
  }
})

t.test('a token is in an entry only where it was asked for', async t => {
  const token = 'a-token-that-nobody-may-ever-see'
  for (const client of all) {
    for (const way of [STDIO, HTTP]) {
      t.notMatch(printEntry(client, { ...way, token: { kind: 'reference', variable: 'READYROOM_TOKEN' } }), token)
      t.match(printEntry(client, { ...way, token: { kind: 'inline', variable: 'READYROOM_TOKEN', token } }), token, client.name)
    }
  }
  t.match(printEntry(codex, { ...STDIO, token: { kind: 'reference', variable: 'READYROOM_TOKEN' } }), /^env_vars = \["READYROOM_TOKEN"\]$/m)
})

t.test('twice changes nothing, in an empty file, a full one and that of a person with habits', async t => {
  const files: Record<Client['format'], string[]> = {
    json: ['', ' \n', '{}', '{"mcpServers":{"x":{"command":"true"}},"b":[1,2]}', '{\n\t"a": 1,\n\t"mcpServers": {}\n}\n'],
    jsonc: ['', '// nothing yet\n', '{}', '{ "a": 1, }', '{\r\n    "a": 1, // one\r\n}\r\n', '{ /* here */ }'],
    toml: ['', '# nothing yet', 'model = "x"', '[mcp_servers]\n', 'mcp_servers = { a = { command = "x" } }\n', 'mcp_servers.a.command = "x"\n[b]\nc = 1\n', '[a]\r\nb = 1\r\n']
  }
  for (const client of all) {
    for (const text of files[client.format]) {
      for (const way of [PLAIN, STDIO, HTTP]) {
        const once = putEntry(client, text, way)
        t.equal(putEntry(client, once, way), once, `${client.name}: ${JSON.stringify(text)}`)
        t.same(findEntry(client, once).entry, client.entry(way, read(client, text)))
        t.notMatch(once, text.includes('\r\n') ? /(?<!\r)\n/ : /\r/, 'the ends of lines are of one kind')
      }
    }
  }
})

t.test('comments, order and spelling of everything else stay byte for byte', async t => {
  const json = [
    '{',
    '    // mine',
    '    "theme": "dark", // not light',
    '    "mcpServers": {',
    '        /* first */ "other": { "command": "C:\\\\Users\\\\Lea Chan\\\\x.exe", "args": ["a",   "b"] }, // last',
    '        // the end',
    '    },',
    '    "z": 1.0e3,',
    '}', ''
  ].join('\n')
  for (const client of [gemini, cursor]) {
    const after = putEntry(client, json, STDIO)
    t.strictSame(lost(json, after), [], client.name)
    t.match(after, /\}, \/\/ last\n {8}"readyroom": \{\n {12}/, 'behind what was last, and indented as the file is')
  }
  const end = '{\n  "servers": {\n    "other": { "url": "http://x" } // no comma yet\n  }\n}\n'
  t.match(putEntry(vscode, end, STDIO), '"other": { "url": "http://x" }, // no comma yet\n    "readyroom": {\n')
  t.equal(putEntry(claude, '{"mcpServers":{"x":{}},"b":2}', PLAIN),
    '{"mcpServers":{"x":{},"readyroom":{"type":"stdio","command":"npx","args":["-y","readyroom"],"timeout":610000}},"b":2}')

  const toml = [
    '# top', 'model = "gpt"   # trailing', "approval_policy='never'", 'big = 9223372036854775807', 'hex = 0xFF', 'odd = nan', 'at = 1979-05-27T07:32:00Z', 'text = """', 'many', 'lines"""', '',
    '[mcp_servers."other one"]   # spaced', "command = 'C:\\Users\\Lea Chan\\x.exe'", 'args = [', '  "a", # one', '  "b",', ']', 'env = { A = "b", "C D" = "e" }', '',
    '[projects."/home/lea/my repo (v2)"]', 'trust_level = "trusted"', '', '[[hooks]]', 'x = 1', '[[hooks]]', 'x = 2', '# last', ''
  ].join('\n')
  const after = putEntry(codex, toml, STDIO)
  t.ok(after.startsWith(toml), 'a new entry is put behind everything')
  t.match(putEntry(codex, after.replace('"npx"', '"old" # mine'), STDIO), after.replace('"npx"', '"npx" # mine'), 'an old one is changed where it stands')
})

t.test('an entry that is there keeps what the person put into it', async t => {
  const before = '{\n  "mcpServers": {\n    "readyroom": {\n      // by hand\n      "command": "old",\n      "args": [],\n      "trust": true,\n      "timeout": 900000,\n      "env": { "MINE": "1" }\n    }\n  }\n}\n'
  const after = putEntry(gemini, before, STDIO)
  t.match(findEntry(gemini, after).entry, { command: 'npx', args: ['-y', 'readyroom'], trust: true, timeout: 900_000, env: { MINE: '1', READYROOM_STREAM: 'my repo (v2)' } })
  t.match(after, '// by hand')
  const codexed = putEntry(codex, '[mcp_servers.readyroom]\nenv_vars = ["MINE"]\nenabled = false\n', { ...PLAIN, token: { kind: 'reference', variable: 'READYROOM_TOKEN' } })
  t.match(findEntry(codex, codexed), { off: true, entry: { env_vars: ['MINE', 'READYROOM_TOKEN'] } })
})

t.test('an entry that becomes one of the other kind keeps nothing that its client would refuse', async t => {
  for (const client of all) {
    const text = putEntry(client, putEntry(client, '', STDIO), HTTP)
    t.same(findEntry(client, text).entry, client.entry(HTTP, undefined), client.name)
    t.same(findEntry(client, putEntry(client, text, STDIO)).entry, client.entry(STDIO, undefined), client.name)
  }
})

t.test('the second form of opencode is written where the file has it', async t => {
  const text = putEntry(opencode, '{ "mcp": { "servers": { "x": { "type": "local", "command": ["x"] } } } }', PLAIN)
  t.match(parseJsonc(text), { mcp: { servers: { x: {}, readyroom: { type: 'local', timeout: { request: 610_000 } } } } })
  t.match(parseJsonc(putEntry(opencode, '{ "mcp": { "servers": { "type": "local", "command": ["x"] } } }', PLAIN)), { mcp: { servers: { type: 'local' }, readyroom: { type: 'local' } } })
})

t.test('what cannot be read is refused with its line', async t => {
  const cases: Array<[Client, string, RegExp, number | undefined]> = [
    [claude, '{\n  "a": 1,,\n}', /is not JSON: property name expected/, 2],
    [claude, '{\n  // Claude Code reads no comments\n}', /is not JSON: invalid comment token/, 2],
    [cursor, '{\n\n  "mcpServers": {', /is not JSON: close brace expected/, 3],
    [cursor, '[]', /not a group of settings/, 1],
    [cursor, '{"mcpServers": []}', /something else than a group of settings at mcpServers/, undefined],
    [cursor, '{"mcpServers": {"readyroom": "x"}}', /at mcpServers\.readyroom/, undefined],
    [cursor, '{"mcpServers": null}', /at mcpServers/, undefined],
    [cursor, '{"mcpServers": {},\n "mcpServers": {}}', /says "mcpServers" twice/, 2],
    [codex, 'a = 1\nb = \n', /is not TOML/, 2],
    [codex, 'mcp_servers = 1\n', /at mcp_servers/, undefined],
    [codex, '[mcp_servers.readyroom]\na = 1\n[mcp_servers.readyroom]\n', /is not TOML/, 3]
  ]
  for (const [client, text, message, line] of cases) {
    try {
      putEntry(client, text, STDIO)
      t.fail(`${text} was read`)
    } catch (err) {
      t.ok(err instanceof SettingsError, String(err))
      t.match((err as SettingsError).message, message)
      t.equal((err as SettingsError).line, line, text)
    }
  }
})

t.test('a value in which the client would put something else is found by its name', async t => {
  const way = (dir: string): Way => ({ ...PLAIN, env: { READYROOM_STATE_DIR: dir } })
  t.equal(misread(gemini, way('/srv/$HOME')), 'READYROOM_STATE_DIR')
  t.equal(misread(gemini, way('/srv/a $ b')), undefined)
  t.equal(misread(claude, way('/srv/${HOME}')), 'READYROOM_STATE_DIR') // eslint-disable-line no-template-curly-in-string
  t.equal(misread(claude, way('/srv/$HOME')), undefined)
  t.equal(misread(opencode, way('/srv/{env:HOME}')), 'READYROOM_STATE_DIR')
  t.equal(misread(codex, way('/srv/${HOME}')), undefined) // eslint-disable-line no-template-curly-in-string
})

t.test('whatever a file of settings looks like, the rest of it is the same before and after', async t => {
  const name = fc.constantFrom('a', 'mcpServers', 'readyroom', 'servers', 'my repo (v2)', '"', '\\')
  const { value } = fc.letrec(tie => ({
    value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.constant(null), fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }))
  }))
  const remark = fc.constantFrom('', ' ', ' // a\n', '/* b */', '\n\n')
  const group = fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true })
  fc.assert(fc.property(group, fc.array(remark, { minLength: 1, maxLength: 5 }), fc.constantFrom(0, 2, '\t'), (content, remarks, indent) => {
    let n = 0
    const text = JSON.stringify(content, null, indent).replace(/("(?:[^"\\]|\\.)*")|([{}[\]:,])/g, (found, string) => string ?? found + remarks[n++ % remarks.length])
    let after: string
    try {
      after = putEntry(gemini, text, STDIO)
    } catch (err) {
      if (err instanceof SettingsError && /something else than a group/.test(err.message)) return
      throw err
    }
    const { mcpServers: { readyroom, ...others } = {}, ...rest } = parseJsonc(after)
    const { mcpServers: { readyroom: _old, ...before } = {}, ...same } = content as { mcpServers?: Record<string, unknown> }
    t.strictSame([rest, others], [same, before])
    t.match(readyroom, gemini.entry(STDIO, undefined))
    if (putEntry(gemini, after, STDIO) !== after) throw new Error('a second time changed it')
  }), { numRuns: 200 })
})
