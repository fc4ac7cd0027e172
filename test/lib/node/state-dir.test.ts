import t from 'tap'
import { stateDirOf } from '../../../lib/node/state-dir'

t.test('on Linux the state of a person, where XDG says or where it says by default', async t => {
  const home = '/home/lea'
  t.equal(stateDirOf({ platform: 'linux', env: {}, home }), '/home/lea/.local/state/readyroom')
  t.equal(stateDirOf({ platform: 'linux', env: { XDG_STATE_HOME: '/var/lea state' }, home }), '/var/lea state/readyroom')
  t.equal(stateDirOf({ platform: 'freebsd', env: {}, home }), '/home/lea/.local/state/readyroom')
  for (const XDG_STATE_HOME of ['', 'state', './state']) {
    t.equal(stateDirOf({ platform: 'linux', env: { XDG_STATE_HOME }, home }), '/home/lea/.local/state/readyroom', 'a relative path is ignored')
  }
})

t.test('on macOS the application support of a person', async t => {
  t.equal(stateDirOf({ platform: 'darwin', env: { XDG_STATE_HOME: '/x' }, home: '/Users/Lea Chan' }), '/Users/Lea Chan/Library/Application Support/readyroom')
})

t.test('on Windows the local application data of a person', async t => {
  const home = 'C:\\Users\\Lea Chan'
  t.equal(stateDirOf({ platform: 'win32', env: { LOCALAPPDATA: 'D:\\Data (v2)\\Local' }, home }), 'D:\\Data (v2)\\Local\\readyroom')
  for (const LOCALAPPDATA of [undefined, '', 'Local']) {
    t.equal(stateDirOf({ platform: 'win32', env: { LOCALAPPDATA }, home }), 'C:\\Users\\Lea Chan\\AppData\\Local\\readyroom')
  }
})

t.test('with no home folder it says so, unless another variable names the place', async t => {
  for (const platform of ['linux', 'darwin', 'win32'] as const) t.throws(() => stateDirOf({ platform, env: {}, home: '' }), /no home folder/)
  t.equal(stateDirOf({ platform: 'linux', env: { XDG_STATE_HOME: '/var/s' }, home: '' }), '/var/s/readyroom')
})
