import { spawnSync } from 'node:child_process'
import t from 'tap'
import { readConfig } from '../../../lib/node/config'
import { welcome, wiring } from '../../../lib/node/welcome'

const config = (env: Record<string, string> = {}) => readConfig({ env, home: () => '/home/lea', platform: 'linux' })
const CLONE = '/home/lea/my repos (v2)/readyroom/dist/readyroom.mjs'
const INSTALLED = '/home/lea/.npm/_npx/1a2b/node_modules/.bin/readyroom'

t.test('it says where the page is and how a first client is wired', async t => {
  const text = welcome({ config: config(), script: INSTALLED, standsBy: false })
  t.match(text, /Ready Room is open: http:\/\/127\.0\.0\.1:8971\/\n/)
  t.match(text, /\n {2}Wire a first client: claude mcp add readyroom -- npx -y readyroom\n/)
  t.match(welcome({ config: config(), script: INSTALLED, standsBy: true }), /runs already; this process stands by.*http:\/\/127\.0\.0\.1:8971\//)
})

t.test('a clone is wired by its path, and what was set here goes along', async t => {
  t.equal(wiring(config(), '/srv/readyroom/dist/readyroom.mjs'), 'claude mcp add readyroom -- node /srv/readyroom/dist/readyroom.mjs')
  t.equal(wiring(config({ READYROOM_PORT: '9000', READYROOM_TOKEN: 'secret-of-this-desk-here' }), INSTALLED),
    'claude mcp add readyroom -e READYROOM_PORT=9000 -- npx -y readyroom')
})

t.test('the line reaches the command as it is meant, whatever the folders are called', async t => {
  const stateDir = "/home/lea/Lea's \"queue\" $HOME `id` \\ !"
  const line = wiring(config({ READYROOM_STATE_DIR: stateDir }), CLONE)
  const { stdout } = spawnSync('bash', ['-c', line.replace(/^claude/, 'printf "%s\\n"')], { encoding: 'utf8' })
  t.strictSame(stdout.split('\n'), ['mcp', 'add', 'readyroom', '-e', `READYROOM_STATE_DIR=${stateDir}`, '--', 'node', CLONE, ''])
})
