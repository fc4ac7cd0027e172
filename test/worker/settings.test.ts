import { readFileSync } from 'node:fs'
import t from 'tap'
import { ROOT } from '../helpers/room'
import { readSettings } from '../../worker/settings'

t.test('what is not set has its default, and a blank value is not set', async t => {
  const defaults = { token: undefined, queue: 'queue', allowedOrigins: [], originPolicy: 'strict', frameAncestors: [], adminApi: false, announceUpgrades: true, consoleLanOnly: true, enableUi: true, publicUrl: '', prune: true, pruneIntervalMs: 3_600_000, warning: undefined }
  t.strictSame(readSettings({}), defaults)
  t.strictSame(readSettings({ READYROOM_TOKEN: ' ', READYROOM_QUEUE: '', READYROOM_ALLOWED_ORIGINS: ' ', READYROOM_ORIGIN_POLICY: '' }), defaults)
})

t.test('what is set is read as on every target', async t => {
  t.strictSame(readSettings({
    READYROOM_TOKEN: 'short',
    READYROOM_QUEUE: ' team ',
    READYROOM_ALLOWED_ORIGINS: 'https://desk.example/',
    READYROOM_ORIGIN_POLICY: 'spec',
    READYROOM_FRAME_ANCESTORS: 'https://desk.example',
    READYROOM_ADMIN_API: 'on',
    READYROOM_ANNOUNCE_UPGRADES: 'off',
    READYROOM_PRUNE: 'off',
    READYROOM_PRUNE_INTERVAL: '60',
    READYROOM_CONSOLE_LAN_ONLY: 'off',
    READYROOM_ENABLE_UI: 'off',
    READYROOM_PUBLIC_URL: 'https://desk.example/'
  }), {
    token: 'short',
    queue: 'team',
    allowedOrigins: ['https://desk.example'],
    originPolicy: 'spec',
    frameAncestors: ['https://desk.example'],
    adminApi: true,
    announceUpgrades: false,
    prune: false,
    pruneIntervalMs: 60_000,
    consoleLanOnly: false,
    enableUi: false,
    publicUrl: 'https://desk.example',
    warning: 'The token has 5 characters, which can be guessed; use at least 24 random ones, such as from: openssl rand -base64 32'
  })
})

t.test('a bad value is named with its variable, a token never with its value', async t => {
  t.throws(() => readSettings({ READYROOM_ORIGIN_POLICY: 'loose' }), { message: /^READYROOM_ORIGIN_POLICY is "loose": it must be strict/ })
  t.throws(() => readSettings({ READYROOM_QUEUE: 'a\nb' }), { message: /^READYROOM_QUEUE is "a\\nb": it must be a name/ })
  t.throws(() => readSettings({ READYROOM_PRUNE_INTERVAL: '0' }), { message: /^READYROOM_PRUNE_INTERVAL is "0": it must be a whole number from 1 to 86,400/ })
  t.throws(() => readSettings({ READYROOM_PUBLIC_URL: 'https://desk.example/room' }), { message: /^READYROOM_PUBLIC_URL is "https:.*": it must have no path/ })
  t.throws(() => readSettings({ READYROOM_CONSOLE_LAN_ONLY: 'maybe' }), { message: /^READYROOM_CONSOLE_LAN_ONLY is "maybe": it must be on or off/ })
  t.throws(() => readSettings({ READYROOM_TOKEN: 'two words' }), { message: /^READYROOM_TOKEN holds a character/ })
})

t.test('docs/worker.md has every variable that is read, and no other', async t => {
  const [docs, source] = ['docs/worker.md', 'worker/settings.ts'].map(file => readFileSync(`${ROOT}${file}`, 'utf8')) as [string, string]
  const table = docs.split('\n').filter(line => line.startsWith('| `READYROOM_')).map(line => line.split('|')[1]!).join(' ')
  const names = (text: string): string[] => [...new Set(Array.from(text.matchAll(/READYROOM_[A-Z_]+/g), ([name]) => name))].sort()
  t.strictSame(names(table), names(/export interface SettingsEnv \{[^}]*\}/.exec(source)![0]))
})
