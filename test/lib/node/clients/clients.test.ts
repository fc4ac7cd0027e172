import t from 'tap'
import { CLIENTS } from '../../../../lib/node/clients/clients'
import type { ClientName, Scope } from '../../../../lib/node/clients/names'
import type { Place } from '../../../../lib/node/clients/place'

const LINUX: Place = { platform: 'linux', env: {}, home: '/home/lea', cwd: '/srv/my repo (v2)' }
const MAC: Place = { platform: 'darwin', env: {}, home: '/Users/lea', cwd: '/srv/x' }
const WINDOWS: Place = { platform: 'win32', env: { APPDATA: 'C:\\Users\\Lea Chan\\AppData\\Roaming' }, home: 'C:\\Users\\Lea Chan', cwd: 'D:\\my repo (v2)' }

const first = (name: ClientName, scope: Scope, place: Place): string => CLIENTS[name].files(scope, place)[0]!

t.test('each client\'s settings are looked for where it keeps them, on every system', async t => {
  const expected: Array<[ClientName, string, string, string]> = [
    ['claude', '/home/lea/.claude.json', '/Users/lea/.claude.json', 'C:\\Users\\Lea Chan\\.claude.json'],
    ['codex', '/home/lea/.codex/config.toml', '/Users/lea/.codex/config.toml', 'C:\\Users\\Lea Chan\\.codex\\config.toml'],
    ['gemini', '/home/lea/.gemini/settings.json', '/Users/lea/.gemini/settings.json', 'C:\\Users\\Lea Chan\\.gemini\\settings.json'],
    ['cursor', '/home/lea/.cursor/mcp.json', '/Users/lea/.cursor/mcp.json', 'C:\\Users\\Lea Chan\\.cursor\\mcp.json'],
    ['vscode', '/home/lea/.config/Code/User/mcp.json', '/Users/lea/Library/Application Support/Code/User/mcp.json', 'C:\\Users\\Lea Chan\\AppData\\Roaming\\Code\\User\\mcp.json'],
    ['opencode', '/home/lea/.config/opencode/opencode.json', '/Users/lea/.config/opencode/opencode.json', 'C:\\Users\\Lea Chan\\.config\\opencode\\opencode.json']
  ]
  for (const [name, linux, mac, windows] of expected) t.strictSame([LINUX, MAC, WINDOWS].map(place => first(name, 'user', place)), [linux, mac, windows], name)
})

t.test('a project has its own file', async t => {
  const expected: Record<ClientName, string> = {
    claude: '.mcp.json', codex: '.codex/config.toml', gemini: '.gemini/settings.json', cursor: '.cursor/mcp.json', vscode: '.vscode/mcp.json', opencode: 'opencode.json'
  }
  for (const [name, file] of Object.entries(expected)) {
    t.equal(first(name as ClientName, 'project', LINUX), `/srv/my repo (v2)/${file}`)
    t.equal(first(name as ClientName, 'project', WINDOWS), `D:\\my repo (v2)\\${file.replaceAll('/', '\\')}`)
  }
})

t.test('a variable that moves the settings is followed', async t => {
  const env = { CLAUDE_CONFIG_DIR: '/etc/claude', CODEX_HOME: '/etc/codex', GEMINI_CLI_HOME: '/etc/gemini', XDG_CONFIG_HOME: '/etc/xdg' }
  const place = { ...LINUX, env }
  t.strictSame((['claude', 'codex', 'gemini', 'vscode', 'opencode'] as const).map(name => first(name, 'user', place)), [
    '/etc/claude/.claude.json', '/etc/codex/config.toml', '/etc/gemini/.gemini/settings.json', '/etc/xdg/Code/User/mcp.json', '/etc/xdg/opencode/opencode.json'
  ])
})
